import type { components } from "./document.js";

/** What the service says of a request that failed. */
export type Failure = components["schemas"]["Failure"];

/** The word that tells failures apart. Later versions of the service may know more. */
export type ErrorCode = Failure["code"];

/** The service refused a request, or failed at it. */
export class AgoraError extends Error {
  override readonly name = "AgoraError";
  readonly status: number;
  /** Missing when the answer is not the service's, but of something before it. */
  readonly code: ErrorCode | undefined;
  /** All that the service says: of a `validation_failed`, `data` has the messages about each field, and `codes` their words. */
  readonly failure: Failure | undefined;
  /** After so many seconds it may be tried again. */
  readonly retryAfter: number | undefined;
  /** What the log of the service names the request by. */
  readonly requestId: string | undefined;

  constructor(response: Response, failure: Failure | undefined) {
    super(failure?.message ?? `The service answered with the status ${response.status}`);
    this.status = response.status;
    this.code = failure?.code;
    this.failure = failure;
    this.retryAfter = retryAfter(response);
    this.requestId = response.headers.get("X-Request-Id") ?? undefined;
  }

  /** Reads what a response says that is no success. */
  static async from(response: Response): Promise<AgoraError> {
    const body: unknown = await response.json().catch(() => undefined);
    // What stands before the service may answer JSON of its own.
    const isFailure = typeof body === "object" && body !== null && "success" in body && body.success === false;
    return new AgoraError(response, isFailure ? (body as Failure) : undefined);
  }
}

/** Returns after how many seconds the service wants to be asked again, if it says so. */
export function retryAfter(response: Response): number | undefined {
  const value = response.headers.get("Retry-After") ?? "";
  // What stands before the service may give a date.
  const seconds = /^\d+$/.test(value) ? Number(value) : Math.max(0, (Date.parse(value) - Date.now()) / 1_000);
  return Number.isNaN(seconds) ? undefined : seconds;
}
