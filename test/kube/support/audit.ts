import type { ControlPlane } from '../../support/cluster/control-plane.js';

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

type Read = { length: number; readonly lines: { readonly text: string; readonly event: AuditEvent }[] };
/** What was read of each log so far: tests ask again and again while it grows. */
const known = new WeakMap<ControlPlane, Read>();

/** The events whose line contains `text`, e.g. a user or a user agent, in the order of their answers. */
export function auditEvents(plane: ControlPlane, text: string): readonly AuditEvent[] {
  const read = known.get(plane) ?? { length: 0, lines: [] };
  known.set(plane, read);
  const log = plane.auditLog();
  // The last line is empty, or still being written.
  const end = log.lastIndexOf('\n') + 1;
  for (const line of log.slice(read.length, end).split('\n'))
    if (line !== '') read.lines.push({ text: line, event: JSON.parse(line) as AuditEvent });
  read.length = end;
  return read.lines.filter((line) => line.text.includes(text)).map(({ event }) => event);
}
