import type { ControlPlane } from '../../support/cluster/control-plane.js';
import { auditEvents, type AuditEvent } from './audit.js';

/** How a lease passed from one pod to another, as the API server saw it. */
export type Succession = {
  /** Time from the last renewal of the old leader to the first renewal of the new one. */
  readonly seconds: number;
  /** The part of that time by which the new leader polled later than on a machine that is not busy. */
  readonly lateSeconds: number;
  /** Number of times it read the lease later than `leaseSeconds` after it first saw that last renewal. */
  readonly looksAfterExpiry: number;
  /** Number of times it read the lease after that last renewal. */
  readonly looks: number;
};

/** A standby reads the lease every 2 s, and up to a fifth later. */
const longestPauseMs = 2_400;

/**
 * Reads from the audit log how `successor` took the lease over from `predecessor` after `since`, when it did not hold it;
 * undefined while the log does not show it yet. Calls are ordered by the time of the request: on a busy machine a call that
 * has seen a change may be answered before the change itself.
 */
export function readSuccession(
  plane: ControlPlane,
  names: { predecessor: string; successor: string; leaseSeconds: number; since: number },
): Succession | undefined {
  const { predecessor, successor, leaseSeconds, since } = names;
  const calls = leaseCalls(plane, successor);
  const first = calls.find((call) => isWrite(call) && askedAt(call) > since);
  if (first === undefined) return undefined;
  const renewal = leaseCalls(plane, predecessor).findLast(
    (call) => isWrite(call) && askedAt(call) < askedAt(first),
  );
  if (renewal === undefined) return undefined;
  const looks = calls.filter(
    (call) => call.verb === 'get' && answeredAt(call) > askedAt(renewal) && askedAt(call) < askedAt(first),
  );
  const [sighting] = looks;
  if (sighting === undefined) return undefined;
  const renewedAt = answeredAt(renewal);
  const expiresAt = answeredAt(sighting) + leaseSeconds * 1000;
  const times = [renewedAt, ...looks.map(askedAt), answeredAt(first)];
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
