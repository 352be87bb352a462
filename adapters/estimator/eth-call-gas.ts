import { DomainError } from '../../core/errors.js';
import { plusMs, type Clock, type EpochMs } from '../../core/units/time.js';
import type { FinalUserOperation } from '../../core/entry-point/user-operation.js';
import { estimationFailed, GasCapped, OverridesUnsupported } from './simulate-handle-op.js';

export type MeasuringLimits = Pick<
  FinalUserOperation,
  'callGasLimit' | 'verificationGasLimit' | 'preVerificationGas'
>;

/** Limits while measuring: above every default cap, and what a node that caps the gas of `eth_call` may allow. */
const plenty: MeasuringLimits = {
  callGasLimit: 12_000_000n,
  verificationGasLimit: 8_000_000n,
  preVerificationGas: 0n,
};
const modest: MeasuringLimits = {
  callGasLimit: 4_000_000n,
  verificationGasLimit: 3_000_000n,
  preVerificationGas: 0n,
};

/** How long a measurement is trusted: later another node may answer for the same URL. */
const rememberedMs = 600_000;

/**
 * How much gas the node of a chain gives to `eth_call`, as measurements have shown. While that is not known, a
 * measurement is made with plenty and with a modest amount at once, so that no estimate waits for the first to fail.
 */
export type EthCallGas = {
  /**
   * The measurement with the most gas that the node gives. Throws what `measure` throws; ESTIMATION_FAILED instead of
   * {@link GasCapped}; and UNAVAILABLE when the node gives less than before, so that measuring again would take longer
   * than asking again.
   */
  measure<T>(measure: (limits: MeasuringLimits) => Promise<T>): Promise<T>;
};

export function createEthCallGas(clock: Clock): EthCallGas {
  let known: { readonly limits: MeasuringLimits; readonly until: EpochMs | undefined } | undefined;

  return {
    async measure(measure) {
      if (known?.until !== undefined && known.until <= clock.now()) known = undefined;
      if (known !== undefined) return measureAs(known.limits, measure);
      const [most, less] = [measure(plenty), measure(modest)];
      // It may fail when it is not needed.
      less.catch(() => {});
      try {
        const measured = await most;
        known = { limits: plenty, until: undefined };
        return measured;
      } catch (error) {
        if (!(error instanceof GasCapped)) throw error;
      }
      try {
        const measured = await less;
        known = { limits: modest, until: plusMs(clock.now(), rememberedMs) };
        return measured;
      } catch (error) {
        throw error instanceof GasCapped ? tooLittleGas() : error;
      }
    },
  };

  async function measureAs<T>(
    limits: MeasuringLimits,
    measure: (limits: MeasuringLimits) => Promise<T>,
  ): Promise<T> {
    try {
      return await measure(limits);
    } catch (error) {
      if (!(error instanceof GasCapped)) throw error;
      known = undefined;
      if (limits === modest) throw tooLittleGas();
      throw new DomainError('UNAVAILABLE', 'the chain node gives eth_call less gas than before', {
        reason: 'CHAIN_UNAVAILABLE',
        retryAfterSeconds: 1,
        cause: error,
      });
    }
  }
}

export function tooLittleGas(): DomainError {
  return estimationFailed('the chain node gives eth_call too little gas for this operation');
}

/** What a simulation's error means for a check; `so` says what cannot be done at a node without state overrides. */
export function simulationError(error: unknown, so: string): unknown {
  if (error instanceof OverridesUnsupported)
    return estimationFailed(`the chain node knows no state overrides, so ${so}`);
  return error instanceof GasCapped ? tooLittleGas() : error;
}
