import type { ChainConfig } from '../../core/config/chain-config.js';
import type { PaymasterConfig } from '../../core/config/paymaster-config.js';
import { compileAddressList } from '../../core/policy/address-list.js';
import type { LimitConfig } from '../../core/policy/spending-limit/schema.js';
import type { EpochMs } from '../../core/units/time.js';
import { sponsoredContract, sponsoredMethod } from './fixture.js';

/** Rules of every kind that an owner may write, all of which let the requests of the bench pass. */

/** As many as a policy may have; no request of the bench is from one of them. */
export const deniedList = compileAddressList(
  Array.from({ length: 5_000 }, (_, index) => `0x${(index + 1).toString(16).padStart(40, 'd')}`),
).list;

export const pricedChain: Required<Pick<ChainConfig, 'nativePrice'>> = {
  nativePrice: { static: { rate: '3000', usdPerNative: '3000' } },
};

const units = ['COUNT', 'NATIVE_ASSET', 'USD'] as const;
const scopes = ['PAYMASTER', 'SMART_ACCOUNT'] as const;
const berlin = { every: 'month', timeZone: 'Europe/Berlin' } as const;
const signature = `${sponsoredMethod}(${Array.from({ length: 8 }, () => 'uint256').join(',')})`;
const declaration = `${sponsoredMethod}(${Array.from({ length: 8 }, (_, n) => `uint256 v${n}`).join(',')})`;

/** Eight limits of mixed units, cycles and scopes, a window, 5,000 senders and two expressions. */
export function rulesOf(paymasterId: string, now: EpochMs): Partial<PaymasterConfig> {
  const idOf = (name: string) => `${paymasterId}-${name}`;
  const cycles = [{ durationMs: 86_400_000 }, { calendar: berlin }, {}];
  return {
    limits: Array.from({ length: 8 }, (_, place): LimitConfig => ({
      policyId: idOf(`limit-${place}`),
      name: `limit ${place}`,
      scope: scopes[place % scopes.length]!,
      thresholdType: units[place % units.length]!,
      threshold: '900000000',
      startMs: now,
      ...cycles[(place >> 1) % cycles.length],
    })),
    windows: [{ policyId: idOf('window'), name: 'window', until: (now + 30 * 86_400_000) as EpochMs }],
    senders: [
      {
        policyId: idOf('senders'),
        name: 'senders',
        action: 'Deny',
        list: deniedList.hash,
        count: deniedList.addresses.length,
      },
    ],
    expressions: [
      {
        policyId: idOf('calls'),
        name: 'calls',
        text: `calls.all(c, c.value == 0 && c.target == "${sponsoredContract}" && c.method == "${signature}" && c.args.v1 <= amount("100", 6))`,
        methods: [declaration],
      },
      {
        policyId: idOf('cost'),
        name: 'cost',
        text: 'cost.native < amount("1", 18) && cost.usd < amount("5000", 6)',
        methods: [],
      },
    ],
  };
}
