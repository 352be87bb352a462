import type { ControlPlane } from '../../../server/standalone/cluster/control-plane.js';
import { auditEvents, type AuditEvent } from './audit.js';

/** How a lease went from one pod to another, as the API server saw it. */
export type Succession = {
  /** From the last renewal of the old leader to the first of the new one. */
  readonly seconds: number;
  /** Of these, what the new leader asked later than it does on a machine that is not busy. */
  readonly lateSeconds: number;
  /** How often it looked at the lease after `leaseSeconds` from when it first saw that last renewal. */
  readonly looksAfterExpiry: number;
  /** How often it looked at the lease after that last renewal. */
  readonly looks: number;
};

/** A standby looks every 2 s, and up to a fifth later. */
const longestPauseMs = 2_400;

/** Reads from the audit log how `successor` took the lease over from `predecessor`; undefined while it does not say so yet. */
export function readSuccession(
  plane: ControlPlane,
  { predecessor, successor, leaseSeconds }: { predecessor: string; successor: string; leaseSeconds: number },
): Succession | undefined {
  const taken = leaseCalls(plane, successor).findLast(isWrite);
  const renewal = leaseCalls(plane, predecessor).findLast(isWrite);
  if (taken === undefined || renewal === undefined) return undefined;
  const renewedAt = answeredAt(renewal);
  const calls = leaseCalls(plane, successor).filter((call) => answeredAt(call) > renewedAt);
  const first = calls.find(isWrite);
  const looks = calls.filter(
    (call) => call.verb === 'get' && first !== undefined && askedAt(call) < askedAt(first),
  );
  const [sighting] = looks;
  if (first === undefined || sighting === undefined) return undefined;
  const expiresAt = answeredAt(sighting) + leaseSeconds * 1000;
  const times = [...looks.map(askedAt), answeredAt(first)];
  const late = times.slice(1).map((at, i) => Math.max(0, at - (times[i] ?? at) - longestPauseMs));
  return {
    seconds: (answeredAt(first) - renewedAt) / 1000,
    lateSeconds: late.reduce((sum, ms) => sum + ms, 0) / 1000,
    looksAfterExpiry: looks.filter((call) => askedAt(call) > expiresAt).length,
    looks: looks.length,
  };
}

function leaseCalls(plane: ControlPlane, pod: string): readonly AuditEvent[] {
  return auditEvents(plane, `paymaster-operator (${pod})`).filter(
    ({ objectRef }) => objectRef?.resource === 'leases',
  );
}

const isWrite = ({ verb, responseStatus }: AuditEvent): boolean =>
  verb !== 'get' && (responseStatus?.code ?? 0) < 300;
const askedAt = (event: AuditEvent): number => Date.parse(event.requestReceivedTimestamp);
const answeredAt = (event: AuditEvent): number => Date.parse(event.stageTimestamp);
