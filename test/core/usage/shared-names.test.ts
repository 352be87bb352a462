import { expect, test } from '@jest/globals';
import { toAddressKey } from '../../../core/units/address.js';
import { exposureCounter, liveCounter, shareCounter } from '../../../core/usage/counter-names.js';
import { SharedNames } from '../../../core/usage/shared-names.js';
import { addressOf } from '../../build/configs.js';

const paymaster = { paymasterId: 'pm-1', namespace: 'acme' };
const contracts = [toAddressKey(addressOf(0xa)), toAddressKey(addressOf(0xb))];
const wallet = toAddressKey(addressOf(0xc));

test('a paymaster has the names that stores know, by contract and wallet, also when they are asked for again', () => {
  const names = new SharedNames(paymaster);
  for (const contract of [...contracts, ...contracts]) {
    expect(names.live).toBe(liveCounter('pm-1'));
    expect(names.share({ contract })).toBe(shareCounter({ contract }, 'acme'));
    expect(names.share({ contract, fundingAddress: wallet })).toBe(
      shareCounter({ contract, fundingAddress: wallet }, 'acme'),
    );
    expect(names.exposures(contract)).toEqual({
      contract: exposureCounter(contract, 'all'),
      organisation: exposureCounter(contract, { organisation: 'acme' }),
      paymaster: exposureCounter(contract, { paymasterId: 'pm-1' }),
    });
  }
});
