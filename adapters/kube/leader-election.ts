import type { Ambient } from '../../core/ambient.js';
import { given } from '../../core/units/given.js';
import type { Clock } from '../../core/units/time.js';
import { isStatus, KubeApiError } from './api-error.js';
import { pause } from '../timers.js';
import { readObject } from './reads.js';
import type { KubeTransport } from './transport.js';

/**
 * One leader among replicas by a `coordination.k8s.io/v1` Lease: a port of client-go's leader election.
 *
 * - Whether another holder's lease has expired depends only on how long its record has not changed *here*, measured by
 *   a monotonic clock. Clocks of two machines are never compared.
 * - Every write carries the resourceVersion that was read, so two candidates cannot both succeed.
 * - If the lease is not renewed within the renew deadline, `lost` resolves and the process must exit. Like client-go's,
 *   this election does not exclude a second leader for an instant: {@link LeaderElection.mayWrite} is asked before each
 *   write, and writes are idempotent.
 * - The lease is renewed on the main thread on purpose: a process whose event loop is stuck must lose it.
 */
export type LeaderElection = {
  start(): void;
  /** Resolves when this process leads for the first time. */
  readonly elected: Promise<void>;
  /** Resolves when leadership is lost; never before `elected`, never after a clean stop. */
  readonly lost: Promise<void>;
  isLeader(): boolean;
  /** False once the renew deadline has passed since the last renewal, even if no timer has fired yet. */
  mayWrite(): boolean;
  /** Milliseconds for which no other process can lead; 0 or less: one may. */
  leftMs(): number;
  /** Releases the lease (empty holder, 1 s) so that a standby need not wait. */
  stop(): Promise<void>;
};

type LeaderElectionOptions = Pick<Ambient, 'log' | 'metrics'> & {
  readonly transport: KubeTransport;
  readonly namespace: string;
  readonly name: string;
  /** Unique per process, e.g. pod name and a random suffix. */
  readonly identity: string;
  /** Monotonic milliseconds. */
  readonly monotonic: () => number;
  /** Only for the times in the Lease that people read. */
  readonly clock: Clock;
  readonly random: () => number;
  readonly leaseMs?: number;
  readonly renewDeadlineMs?: number;
  readonly retryMs?: number;
};

type LeaseSpec = {
  readonly holderIdentity?: string;
  readonly leaseDurationSeconds?: number;
  readonly acquireTime?: string;
  readonly renewTime?: string;
  readonly leaseTransitions?: number;
};
type Lease = {
  readonly metadata: { readonly name: string; readonly namespace: string; readonly resourceVersion?: string };
  readonly spec?: LeaseSpec;
};

const jitterFactor = 1.2;

export function createLeaderElection(options: LeaderElectionOptions): LeaderElection {
  const { transport, namespace, name, identity, log, monotonic } = options;
  const leaseMs = options.leaseMs ?? 15_000;
  const renewDeadlineMs = options.renewDeadlineMs ?? 10_000;
  const retryMs = options.retryMs ?? 2_000;
  const collection = `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`;
  const master = options.metrics
    .gauge({ name: 'leader_election_master_status', help: '1 while this process leads', labels: ['name'] })
    .with({ name });
  const stopped = new AbortController();
  const elected = Promise.withResolvers<void>();
  const lost = Promise.withResolvers<void>();

  // The record as it was last seen, and when it last changed here.
  let observed: Lease | undefined;
  let observedAt = monotonic();
  let lastRenewal = Number.NEGATIVE_INFINITY;
  let isLeading = false;
  let loop: Promise<void> | undefined;

  async function run(): Promise<void> {
    while (!stopped.signal.aborted) {
      const acquired = await tryAcquireOrRenew();
      if (stopped.signal.aborted) return;
      if (acquired && !isLeading) lead();
      if (isLeading && !mayWrite()) return lose();
      await pause(
        isLeading ? retryMs : retryMs * (1 + options.random() * (jitterFactor - 1)),
        stopped.signal,
      );
    }
  }

  function lead(): void {
    isLeading = true;
    master.set(1);
    log.info('became leader', { lease: `${namespace}/${name}`, identity });
    elected.resolve();
  }

  function lose(): void {
    isLeading = false;
    master.set(0);
    log.error('lost leadership', { lease: `${namespace}/${name}`, identity });
    lost.resolve();
  }

  async function tryAcquireOrRenew(): Promise<boolean> {
    const startedAt = monotonic();
    // No answer may arrive after the deadline: a leader that still waits then has lost the lead.
    const leftMs = isLeading ? lastRenewal + renewDeadlineMs - startedAt : renewDeadlineMs;
    // An integer: a monotonic clock counts fractions, which timers refuse.
    const timeoutMs = Math.max(1, Math.floor(leftMs));
    try {
      // Fast path: the record is ours and unchanged, so it can be written without another read.
      if (isLeading && observed && isOurs(observed)) {
        try {
          return renewed(await put(observed, nextSpec(observed), timeoutMs), startedAt);
        } catch (error) {
          if (!isStatus(error, 409, 404)) throw error;
        }
      }
      const current = await read(timeoutMs, stopped.signal);
      if (current === undefined) return renewed(await create(timeoutMs), startedAt);
      observe(current);
      if (!isOurs(current) && !hasExpired(current)) return false;
      return renewed(await put(current, nextSpec(current), timeoutMs), startedAt);
    } catch (error) {
      if (!stopped.signal.aborted && !isStatus(error, 409)) {
        log.warn('writing the lease failed', {
          lease: `${namespace}/${name}`,
          error: describeError(error),
        });
      }
      return false;
    }
  }

  function renewed(lease: Lease, startedAt: number): true {
    observe(lease);
    // Counted from before the request: the server may have stored it at any moment since.
    lastRenewal = startedAt;
    return true;
  }

  function observe(lease: Lease): void {
    if (JSON.stringify(observed?.spec) !== JSON.stringify(lease.spec)) observedAt = monotonic();
    observed = lease;
  }

  function isOurs(lease: Lease): boolean {
    return lease.spec?.holderIdentity === identity;
  }

  function hasExpired(lease: Lease): boolean {
    if (!lease.spec?.holderIdentity) return true;
    const duration = (lease.spec.leaseDurationSeconds ?? leaseMs / 1000) * 1000;
    return monotonic() - observedAt > duration;
  }

  function nextSpec(previous: Lease): Required<LeaseSpec> {
    const now = microTime(options.clock.now());
    const transitions = previous.spec?.leaseTransitions ?? 0;
    const common = {
      holderIdentity: identity,
      leaseDurationSeconds: Math.ceil(leaseMs / 1000),
      renewTime: now,
    };
    return isOurs(previous)
      ? { ...common, acquireTime: previous.spec?.acquireTime ?? now, leaseTransitions: transitions }
      : { ...common, acquireTime: now, leaseTransitions: transitions + 1 };
  }

  function read(timeoutMs: number, signal?: AbortSignal): Promise<Lease | undefined> {
    return readObject(transport, `${collection}/${name}`, { timeoutMs, ...given({ signal }) });
  }

  async function create(timeoutMs: number): Promise<Lease> {
    const metadata = { name, namespace };
    // The first holder does not count as a transition, as in client-go.
    const spec = { ...nextSpec({ metadata }), leaseTransitions: 0 };
    return write('POST', collection, { metadata, spec }, timeoutMs);
  }

  async function put(previous: Lease, spec: LeaseSpec, timeoutMs: number): Promise<Lease> {
    const { resourceVersion } = previous.metadata;
    const metadata = { name, namespace, ...given({ resourceVersion }) };
    return write('PUT', `${collection}/${name}`, { metadata, spec }, timeoutMs);
  }

  async function write(
    method: 'POST' | 'PUT',
    path: string,
    lease: Lease,
    timeoutMs: number,
  ): Promise<Lease> {
    const body = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', ...lease };
    return (await transport.request({ method, path, body, timeoutMs })) as Lease;
  }

  function leftMs(): number {
    return isLeading ? lastRenewal + renewDeadlineMs - monotonic() : 0;
  }

  function mayWrite(): boolean {
    return leftMs() > 0;
  }

  async function release(): Promise<void> {
    for (let attempt = 0; attempt < 3; attempt += 1) {
      try {
        // Not with the signal that ends the loop: it is aborted already.
        const current = await read(2_000);
        if (current === undefined || !isOurs(current)) return;
        const spec = nextSpec(current);
        const released = { holderIdentity: '', leaseDurationSeconds: 1, acquireTime: spec.renewTime };
        await put(current, { ...spec, ...released }, 2_000);
        return;
      } catch (error) {
        if (!isStatus(error, 409)) {
          log.warn('the lease could not be released; a standby takes over when it expires', {
            error: describeError(error),
          });
          return;
        }
      }
    }
  }

  return {
    start() {
      loop ??= run();
    },
    elected: elected.promise,
    lost: lost.promise,
    isLeader: () => isLeading,
    mayWrite,
    leftMs,
    async stop() {
      if (stopped.signal.aborted) return;
      isLeading = false;
      master.set(0);
      stopped.abort();
      await loop;
      // Also a lease that was acquired during the stop: nobody would renew it.
      if (observed !== undefined && isOurs(observed)) await release();
    },
  };
}

function describeError(error: unknown): string {
  return error instanceof KubeApiError ? `${error.status} ${error.reason} ${error.message}` : String(error);
}

/** RFC 3339 in UTC with six digits, as Kubernetes' MicroTime requires. */
export function microTime(epochMs: number): string {
  return new Date(epochMs).toISOString().replace(/\.(\d{3})Z$/, '.$1000Z');
}
