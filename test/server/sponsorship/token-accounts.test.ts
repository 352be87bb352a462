import { describe, expect, test } from '@jest/globals';
import { CallReverted, type CallRequest } from '../../../core/chain/chain.js';
import { silentLogger } from '../../../core/log.js';
import type { Hex } from '../../../core/units/hex.js';
import { toAddressKey } from '../../../core/units/address.js';
import { createTokenAccounts } from '../../../server/decision/token/token-accounts.js';
import { serveChain } from '../../../server/view/served-chain.js';
import { aChainConfig } from '../../build/configs.js';
import { aTokenChain, aTokenProfile, someTokenAccount } from '../../build/fee-tokens.js';
import { FakeChain } from '../../fakes/chain.js';

const chain = serveChain(
  aChainConfig(aTokenChain()),
  { get: () => undefined, recover: () => undefined },
  silentLogger,
);
const named: Hex = `0x${'0'.repeat(24)}${someTokenAccount.slice(2).toLowerCase()}`;
const account = toAddressKey(someTokenAccount);

/** A chain whose contracts answer `tokenAccount()` in turn; the last answer stays. */
function answering(...answers: readonly (Hex | Error)[]) {
  const left = [...answers];
  class Answering extends FakeChain {
    override call(_request: CallRequest): Promise<Hex> {
      const answer = left.length > 1 ? left.shift() : left[0];
      return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer ?? '0x');
    }
  }
  return createTokenAccounts({ chains: { get: () => new Answering({ chainId: 31337, time: 1 }) } });
}

function mode(version = '1.1.0') {
  const { token } = chain.profiles.get(version) ?? {};
  if (token === undefined) throw new Error(`${version} has no token mode`);
  return token;
}

describe('the account that pays in token mode', () => {
  test('is the one that the contract names, and is then known to the follower', async () => {
    const accounts = answering(named);
    expect(accounts.known(chain)).toEqual([]);
    expect(await accounts.payer(chain, mode())).toBe(account);
    expect(accounts.known(chain)).toContainEqual({
      contract: toAddressKey(aTokenProfile('1.1.0').token ?? '0x'),
      fundingAddress: account,
    });
  });

  test('is absent where the contract has no such view, and the contract is not asked again', async () => {
    const accounts = answering(new CallReverted('0x', 'no such view'), named);
    expect(await accounts.payer(chain, mode())).toBeUndefined();
    expect(await accounts.payer(chain, mode())).toBeUndefined();
    expect(accounts.known(chain)).toEqual([]);
  });

  test('is requested again where no contract is deployed yet, or the node does not answer', async () => {
    const accounts = answering('0x', new Error('down'), named);
    expect(await accounts.payer(chain, mode())).toBeUndefined();
    await expect(accounts.payer(chain, mode())).rejects.toThrow('down');
    expect(await accounts.payer(chain, mode())).toBe(account);
  });

  test('is absent in layouts whose contracts keep no balances, without a request', async () => {
    const accounts = answering(new Error('must not be asked'));
    expect(await accounts.payer(chain, mode('singleton-0.7'))).toBeUndefined();
  });
});
