import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
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

/** What was read of a log so far: tests ask again and again while it grows. */
type Read = {
  bytes: number;
  readonly lines: string[];
  readonly events: Map<string, { lines: number; readonly found: AuditEvent[] }>;
};
const known = new WeakMap<ControlPlane, Read>();

/** The events whose line contains `text`, e.g. a user or a user agent, in the order of their answers. */
export function auditEvents(plane: ControlPlane, text: string): readonly AuditEvent[] {
  const read = known.get(plane) ?? { bytes: 0, lines: [], events: new Map() };
  known.set(plane, read);
  readOn(read, join(plane.directory, 'audit.log'));
  const events = read.events.get(text) ?? { lines: 0, found: [] };
  read.events.set(text, events);
  for (const line of read.lines.slice(events.lines))
    if (line.includes(text)) events.found.push(JSON.parse(line) as AuditEvent);
  events.lines = read.lines.length;
  return events.found;
}

function readOn(read: Read, file: string): void {
  const log = openSync(file, 'r');
  try {
    const more = Buffer.alloc(fstatSync(log).size - read.bytes);
    const got = more.subarray(0, readSync(log, more, 0, more.length, read.bytes));
    // The last line is empty, or still being written.
    const whole = got.subarray(0, got.lastIndexOf('\n') + 1);
    read.bytes += whole.length;
    for (const line of whole.toString().split('\n')) if (line !== '') read.lines.push(line);
  } finally {
    closeSync(log);
  }
}
