/**
 * A client of Agora: `createClient` creates one. Its calls throw an `AgoraError` if the service refuses a request.
 *
 * @module
 */
export { type Agora, type Body, type Item, type Options, createClient, newIdempotencyKey } from "./client.js";
export type { components, paths } from "./document.js";
export { AgoraError, type ErrorCode, type Failure } from "./error.js";
export {
  type EndReason,
  type EventOptions,
  type LiveEvent,
  type NotificationType,
  StreamRefused,
  type Topic,
  listen,
} from "./events.js";
