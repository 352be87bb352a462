import { isDeepStrictEqual } from 'node:util';
import type { Ambient } from '../../core/ambient.js';
import type { Chains } from '../../core/chain/chain.js';
import type { DataFeeReading, DataFees } from '../../core/chain/data-fee/data-fees.js';
import type { DataFeeSpec } from '../../core/chain/data-fee/spec.js';
import type { ChainConfig } from '../../core/config/chain-config.js';
import { isDomainError } from '../../core/errors.js';
import { systemTimers, type Timers } from '../timers.js';
import { OracleUnsupported, type DataFeeOracle } from './oracle.js';
import { dataFeeOracles } from './oracles.js';
import { ordinaryDataFee } from '../../core/chain/data-fee/data-gas.js';
import type { Metrics } from '../../core/metrics.js';
import type { EpochMs } from '../../core/units/time.js';

type DataFeesDeps = Ambient & {
  readonly chains: Pick<Chains, 'get'>;
  /** What is served now; read again before each round. */
  readonly chainConfigs: () => Iterable<FollowedChain>;
  /** Called when the answer of a chain's oracle became usable or unusable, or is unusable for another reason. */
  readonly onChange?: (chainId: number) => void;
  /** Pause between two readings. Default 10 s: layer 1 makes a block every 12 s. */
  readonly refreshMs?: number;
  /** Default: system timers. */
  readonly timers?: Timers;
};

export type FollowedChain = Pick<ChainConfig, 'chainId' | 'rpc' | 'dataFee'>;

/** Why a chain's data fee cannot be read: `unreachable` passes by itself, `unsupported` does not. */
export type DataFeeFault = {
  readonly outcome: Exclude<DataFeeOutcome, 'ok'>;
  /** What was asked, e.g. `GasPriceOracle 0x4200…000F`. */
  readonly oracle: string;
  /** The rest of a sentence about the oracle. */
  readonly detail: string;
};

export type KeptDataFees = DataFees & {
  /** Why the last reading failed; undefined after one that succeeded, and before the first. */
  fault(chainId: number): DataFeeFault | undefined;
  start(): void;
  /** Lets running reads finish. May be called twice. */
  stop(): Promise<void>;
};

type Entry = {
  readonly config: FollowedChain & { readonly dataFee: DataFeeSpec };
  readonly oracle: DataFeeOracle;
  reading: DataFeeReading | undefined;
  fault: DataFeeFault | undefined;
  askedAt: number | undefined;
  isAsked: boolean;
};

/**
 * Follows the data fee of every served chain that has an oracle for it.
 *
 * - One request per chain and `refreshMs`, at most one at a time, each with the connection's deadline. Requests of callers
 *   cause none.
 * - While an oracle does not answer, the last reading stays, with its age: who uses it decides how old it may be.
 * - An oracle that charges by an unknown rule ends the reading at once: something is wrong, not unknown.
 * - A Chain whose connection or data fee has changed starts without a reading.
 */
export function createDataFees(deps: DataFeesDeps): KeptDataFees {
  const { chains, clock, log, refreshMs = 10_000, timers = systemTimers } = deps;
  const entries = new Map<number, Entry>();
  const flights = new Set<Promise<void>>();
  const instruments = createDataFeeInstruments(deps.metrics);
  let cancel: (() => void) | undefined;
  let isStopped = false;

  function update(): void {
    const served = new Set<number>();
    for (const { chainId, rpc, dataFee } of deps.chainConfigs()) {
      const oracle = dataFee === undefined ? undefined : findOracle(dataFee);
      if (dataFee === undefined || oracle === undefined) continue;
      served.add(chainId);
      const config = { chainId, rpc, dataFee };
      if (isDeepStrictEqual(entries.get(chainId)?.config, config)) continue;
      entries.set(chainId, {
        config,
        oracle,
        reading: undefined,
        fault: undefined,
        askedAt: undefined,
        isAsked: false,
      });
    }
    for (const chainId of entries.keys())
      if (!served.has(chainId)) {
        entries.delete(chainId);
        instruments.forget(chainId);
      }
  }

  function round(): void {
    update();
    const now = clock.now();
    for (const entry of entries.values()) {
      show(entry);
      const isDue = entry.askedAt === undefined || now - entry.askedAt >= refreshMs;
      if (!isDue || entry.isAsked) continue;
      entry.askedAt = now;
      entry.isAsked = true;
      const flight = read(entry).finally(() => {
        entry.isAsked = false;
        flights.delete(flight);
      });
      flights.add(flight);
    }
  }

  async function read(entry: Entry): Promise<void> {
    const { config, oracle } = entry;
    const { chainId } = config;
    const before = entry.fault;
    const isFirst = entry.reading === undefined && before === undefined;
    const observedAt = clock.now();
    try {
      entry.reading = { price: await oracle.read(chains.get(config)), observedAt };
      entry.fault = undefined;
    } catch (error) {
      entry.fault = toFault(oracle, error);
      if (entry.fault.outcome === 'unsupported') entry.reading = undefined;
    }
    // The chain was dropped or changed while it was read: its metrics must not come back.
    if (entries.get(chainId) !== entry) return;
    instruments.read(chainId, entry.fault?.outcome ?? 'ok');
    show(entry);
    if (!isFirst && entry.fault?.outcome === before?.outcome && entry.fault?.detail === before?.detail)
      return;
    if (entry.fault !== undefined) log.warn('data fee cannot be read', { chainId, ...entry.fault });
    else log.info('data fee is followed', { chainId, oracle: oracle.name });
    deps.onChange?.(chainId);
  }

  function show({ config, reading }: Entry): void {
    if (reading === undefined) return instruments.forget(config.chainId);
    instruments.show(config.chainId, config.dataFee, reading, clock.now());
  }

  function start(): void {
    if (isStopped || cancel !== undefined) return;
    round();
    // Checked more often than read, so that a chain that was just added does not wait long.
    cancel = timers.after(refreshMs / 10, () => {
      cancel = undefined;
      start();
    });
  }

  return {
    get: (chainId) => entries.get(chainId)?.reading,
    fault: (chainId) => entries.get(chainId)?.fault,
    start,
    async stop() {
      isStopped = true;
      cancel?.();
      await Promise.all(flights);
    },
  };
}

/** A kind of a newer release has no oracle here. */
function findOracle({ kind }: DataFeeSpec): DataFeeOracle | undefined {
  return Object.hasOwn(dataFeeOracles, kind) ? dataFeeOracles[kind] : undefined;
}

function toFault(oracle: DataFeeOracle, error: unknown): DataFeeFault {
  if (error instanceof OracleUnsupported)
    return { outcome: 'unsupported', oracle: oracle.name, detail: error.message };
  // Any other error is a bug, and must not end the process: the reading just grows old.
  const detail = isDomainError(error)
    ? 'could not be asked: the node does not answer'
    : 'failed unexpectedly';
  return { outcome: 'unreachable', oracle: oracle.name, detail };
}

type DataFeeOutcome = 'ok' | 'unreachable' | 'unsupported';

/** Metrics of the data fees that are followed. */
function createDataFeeInstruments(metrics: Metrics) {
  const fee = metrics.gauge<'chain'>({
    name: 'paymaster_data_fee_wei',
    help: 'What the chain charges for posting an ordinary operation (500 bytes after compression), by the last reading.',
    labels: ['chain'],
  });
  const age = metrics.gauge<'chain'>({
    name: 'paymaster_data_fee_age_seconds',
    help: 'Age of the last reading of the data fee; nothing is estimated by one that is older than 15 minutes.',
    labels: ['chain'],
  });
  const reads = metrics.counter<'chain' | 'outcome'>({
    name: 'paymaster_data_fee_reads_total',
    help: 'Readings of the data fee: ok, unreachable (the node), unsupported (the chain charges by another rule).',
    labels: ['chain', 'outcome'],
  });
  const labels = (chainId: number) => ({ chain: String(chainId) });

  return {
    read(chainId: number, outcome: DataFeeOutcome): void {
      reads.with({ ...labels(chainId), outcome }).inc();
    },
    show(chainId: number, spec: DataFeeSpec, reading: DataFeeReading, now: EpochMs): void {
      fee.with(labels(chainId)).set(Number(ordinaryDataFee(spec, reading.price)));
      age.with(labels(chainId)).set(Math.max(0, now - reading.observedAt) / 1000);
    },
    forget(chainId: number): void {
      fee.remove(labels(chainId));
      age.remove(labels(chainId));
    },
  };
}
