import type { ControlPlane } from '../../../standalone/cluster/control-plane.js';

/** One line of the API server's audit log, as far as tests read it. */
export type AuditEvent = {
  readonly verb: string;
  readonly requestURI: string;
  readonly userAgent?: string;
  readonly user: { readonly username: string };
  readonly requestReceivedTimestamp: string;
  readonly stageTimestamp: string;
  readonly objectRef?: {
    readonly apiGroup?: string;
    readonly resource: string;
    readonly subresource?: string;
    readonly name?: string;
    readonly namespace?: string;
  };
  readonly responseStatus?: { readonly code?: number };
};

/** The events whose line contains `text`, e.g. a user or a user agent, in the order of their answers. */
export function auditEvents(plane: ControlPlane, text: string): readonly AuditEvent[] {
  return (
    plane
      .auditLog()
      .split('\n')
      // The last line is empty, or still being written.
      .slice(0, -1)
      .filter((line) => line.includes(text))
      .map((line) => JSON.parse(line) as AuditEvent)
  );
}
