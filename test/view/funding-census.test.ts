import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { toAddressKey, type AddressKey } from '../../core/units/address.js';
import { createFundingCensus } from '../../server/view/funding-census.js';
import { compilePaymaster, type ServedPaymaster } from '../../server/view/served-paymaster.js';
import { createSharing } from '../../server/view/sharing.js';
import { addressOf, aPaymasterConfig } from '../build/configs.js';

const wallets = [1, 2, 3].map((n) => toAddressKey(addressOf(n)));
const sharing = createSharing();

function paymasterOf(wallet: AddressKey | undefined): ServedPaymaster {
  const { fundingAddress: _own, ...config } = aPaymasterConfig();
  return compilePaymaster(
    { ...config, ...(wallet === undefined ? {} : { fundingAddress: wallet }) } as typeof config,
    sharing,
  );
}

test('a wallet is shared when several paymasters draw on it, whoever came and went before', () => {
  const step = fc.record({
    isAdded: fc.boolean(),
    wallet: fc.constantFrom(undefined, ...wallets),
    which: fc.nat(),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), fc.subarray(wallets), (steps, defaultsOf) => {
      const census = createFundingCensus();
      const defaults = new Set(defaultsOf);
      const listed: ServedPaymaster[] = [];
      const drawersOf = (wallet: AddressKey) =>
        listed.filter(({ fundingAddress: own }) =>
          own === undefined ? defaults.has(wallet) : own === wallet,
        ).length;
      for (const { isAdded, wallet, which } of steps) {
        if (isAdded) {
          listed.push(paymasterOf(wallet));
          census.add(listed.at(-1)!);
        } else if (listed.length > 0) {
          const [gone] = listed.splice(which % listed.length, 1);
          census.remove(gone!);
        }
        for (const paymaster of listed)
          for (const funding of wallets)
            expect(census.sharesFunding(paymaster, funding, defaults)).toBe(drawersOf(funding) > 1);
      }
    }),
    { numRuns: 200 },
  );
});
