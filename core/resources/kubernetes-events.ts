import type { AnyResource } from './kinds.js';

/** One thing that happened to an object, for `kubectl describe` and `kubectl events`. */
export type ResourceEvent = {
  readonly object: Pick<AnyResource, 'apiVersion' | 'kind' | 'metadata'>;
  readonly type: 'Normal' | 'Warning';
  /** Documented constant, in CamelCase. */
  readonly reason: string;
  /** A sentence for people; equal events are told apart by it. Cut at 1,024 bytes. */
  readonly note: string;
};

/** Port: where events go. Telling is never waited for and never fails: an event is a courtesy. */
export type EventRecorder = { record(event: ResourceEvent): void };

export const noEvents: EventRecorder = { record: () => {} };
