import { expect, test } from '@jest/globals';
import { encodeCall, signerCall, signersCall, verifyingSignerCall } from '../../../core/paymaster/abi.js';
import { devAccounts } from '../../../standalone/dev-chain/dev-accounts.js';

const signer = devAccounts.signer.address;
const other = devAccounts.deployer.address;
const word = (address: string) => `0x${address.slice(2).toLowerCase().padStart(64, '0')}` as const;
const no = `0x${'0'.repeat(64)}` as const;
const yes = `0x${'1'.padStart(64, '0')}` as const;

test.each([
  {
    fragment: 'function verifyingSigner()',
    values: [],
    call: verifyingSignerCall,
    good: word(signer),
    bad: word(other),
  },
  { fragment: 'function signer()', values: [], call: signerCall, good: word(signer), bad: word(other) },
  { fragment: 'function signers(address signer)', values: [signer], call: signersCall, good: yes, bad: no },
])(
  '$fragment is encoded as ethers does it, and answers whether the key is accepted',
  ({ fragment, values, call, good, bad }) => {
    const { data, isAuthorised } = call(signer);
    expect(data).toBe(encodeCall(fragment, values));
    expect([good, bad].map(isAuthorised)).toEqual([true, false]);
  },
);
