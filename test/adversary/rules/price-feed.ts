import { AbiCoder } from 'ethers';
import { createPrices } from '../../../adapters/price/prices.js';
import type { Chain } from '../../../core/chain/chain.js';
import type { ChainConfig } from '../../../core/config/chain-config.js';
import { silentLogger } from '../../../core/log.js';
import { noMetrics } from '../../../core/metrics.js';
import { inDollars, toDollarSpec } from '../../../core/pricing/native-price.js';
import type { Clock } from '../../../core/units/time.js';
import type { Hex } from '../../../core/units/hex.js';
import { addressOf } from '../../build/configs.js';
import { prices } from './written.js';
import type { PriceFault } from './steps.js';

const [nativeFeed, sequencerFeed] = [addressOf(0xfeed1), addressOf(0xfeed2)];
const maxAgeSeconds = 3_600;
const sequencerRestSeconds = 3_600;

/** Prices here jump as they like; what is too far has a test of its own. */
export const nativePrice = inDollars({
  chainlink: { nativeFeed, sequencerFeed, maxAgeSeconds },
  maxFallPercent: 100,
});

/** The feeds that the service reads, by its own code, and what the rules make of them. */
export class PriceFeed {
  readonly #clock: Clock;
  #answer: bigint = prices[0];
  #updatedAt: number;
  #isIncomplete = false;
  #sequencer = { isDown: false, since: 1 };

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#updatedAt = seconds(clock.now());
  }

  set(price: number, fault: PriceFault, ageSeconds: number): void {
    const now = seconds(this.#clock.now());
    this.#answer = { zero: 0n, negative: -1n }[fault as string] ?? prices[price]!;
    this.#updatedAt = now - (fault === 'old' ? maxAgeSeconds + ageSeconds : ageSeconds);
    this.#isIncomplete = fault === 'incomplete';
    if (fault === 'sequencer down') this.#sequencer = { isDown: true, since: now };
    else if (fault === 'sequencer just up')
      this.#sequencer = { isDown: false, since: now - (ageSeconds % 3_700) };
    else this.#sequencer = { isDown: false, since: 1 };
  }

  /** The feed answers a new round at its usual price. */
  refresh(): void {
    this.#updatedAt = seconds(this.#clock.now());
  }

  /** The price that may be used now, with 8 decimals. */
  usable(): bigint | undefined {
    const now = this.#clock.now();
    const isFresh = now < (this.#updatedAt + maxAgeSeconds) * 1_000;
    const { isDown, since } = this.#sequencer;
    const isUp = !isDown && seconds(now) - since >= sequencerRestSeconds;
    return isFresh && isUp && !this.#isIncomplete && this.#answer > 0n ? this.#answer : undefined;
  }

  /** The service's prices over these feeds. Every answer is read anew. */
  open(chain: ChainConfig) {
    const kept = createPrices({
      clock: this.#clock,
      log: silentLogger,
      metrics: noMetrics,
      chains: {
        get: () =>
          ({
            call: async (request: { readonly to: string; readonly data: Hex }) => this.#call(request),
          }) as unknown as Chain,
      },
      chainConfigs: () => [chain],
      timing: { cacheMs: 1 },
    });
    const dollar = toDollarSpec(chain.chainId, nativePrice);
    return { peek: kept.peek.bind(kept), read: () => kept.get(dollar), stop: () => kept.stop() };
  }

  #call({ to, data }: { readonly to: string; readonly data: Hex }): Hex {
    const isSequencer = to === sequencerFeed;
    switch (data) {
      case '0xfeaf968c': {
        const { isDown, since } = this.#sequencer;
        if (isSequencer) return words(1n, isDown ? 1n : 0n, BigInt(since), BigInt(since), 1n);
        const updatedAt = BigInt(this.#updatedAt);
        return words(2n, this.#answer, updatedAt, updatedAt, this.#isIncomplete ? 1n : 2n);
      }
      case '0x313ce567':
        return words(8n);
      case '0x7284e416':
        return AbiCoder.defaultAbiCoder().encode(
          ['string'],
          [isSequencer ? 'L2 Sequencer Uptime Status Feed' : 'ETH / USD'],
        ) as Hex;
      default:
        throw new Error(`a feed is asked for ${data}`);
    }
  }
}

function words(...values: readonly bigint[]): Hex {
  return `0x${values.map((value) => BigInt.asUintN(256, value).toString(16).padStart(64, '0')).join('')}`;
}

function seconds(ms: number): number {
  return Math.floor(ms / 1_000);
}
