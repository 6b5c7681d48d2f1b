import type { components } from "./document.js";

/** The body of a failure response. */
export type Failure = components["schemas"]["Failure"];

/** The code of a failure. Later versions of the service may add codes. */
export type ErrorCode = Failure["code"];

/** A failure response: the service refused a request, or failed to handle it. */
export class AgoraError extends Error {
  override readonly name = "AgoraError";
  readonly status: number;
  /** Undefined if the response is not from the service, but from a proxy in front of it. */
  readonly code: ErrorCode | undefined;
  /** The whole body: of a `validation_failed`, `data` has the messages for each field, and `codes` a code for each message. */
  readonly failure: Failure | undefined;
  /** The number of seconds after which to retry (`Retry-After`). */
  readonly retryAfter: number | undefined;
  /** The id of the request in the service's log (`X-Request-Id`). */
  readonly requestId: string | undefined;

  constructor(response: Response, failure: Failure | undefined) {
    super(failure?.message ?? `The service answered with the status ${response.status}`);
    this.status = response.status;
    this.code = failure?.code;
    this.failure = failure;
    this.retryAfter = retryAfter(response);
    this.requestId = response.headers.get("X-Request-Id") ?? undefined;
  }

  /** Reads the body of a failure response. */
  static async from(response: Response): Promise<AgoraError> {
    const body: unknown = await response.json().catch(() => undefined);
    // A proxy in front of the service may respond with JSON of its own.
    const isFailure = typeof body === "object" && body !== null && "success" in body && body.success === false;
    return new AgoraError(response, isFailure ? (body as Failure) : undefined);
  }
}

/** Returns the number of seconds after which to retry, if the response has a `Retry-After`. */
export function retryAfter(response: Response): number | undefined {
  const value = response.headers.get("Retry-After") ?? "";
  // A proxy in front of the service may send a date.
  const seconds = /^\d+$/.test(value) ? Number(value) : Math.max(0, (Date.parse(value) - Date.now()) / 1_000);
  return Number.isNaN(seconds) ? undefined : seconds;
}
