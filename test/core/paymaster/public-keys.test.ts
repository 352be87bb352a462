import { expect, test } from '@jest/globals';
import { HDNodeWallet, Mnemonic } from 'ethers';
import { silentLogger } from '../../../core/log.js';
import { signersOn } from '../../../core/paymaster/public-keys.js';
import type { Signer, Signers } from '../../../core/paymaster/signer.js';
import { parseAddress } from '../../../core/units/address.js';
import { serveChain } from '../../../server/view/served-chain.js';
import { aChainConfig } from '../../build/configs.js';
import { newWallet } from '../../support/new-wallet.js';

// Whoever reads the first page of anvil's documents could spend the deposit of a contract that trusts one of its accounts.

const words = Mnemonic.fromPhrase('test test test test test test test test test test test junk');
const signers = (address: string): Signers => {
  const signer: Signer = { address: parseAddress(address), implementation: 'test', sign: () => [] };
  return { get: () => signer, recover: () => undefined };
};

test('no account of the mnemonic of dev chains signs where coins may be worth something', () => {
  for (let index = 0; index < 20; index++) {
    const { address } = HDNodeWallet.fromMnemonic(words, `m/44'/60'/0'/0/${index}`);
    const signersOfAll = signers(address);
    // A chain that nobody knows may be anything.
    for (const chainId of [1, 8453, 4242]) {
      const usable = signersOn(signersOfAll, chainId);
      expect(usable.get('dev')).toBeUndefined();
      expect(usable.problem?.('dev')).toBe(
        `"dev" is the development key of ${address}, which everybody knows, and chain ${chainId} is not a known test chain: make a key of your own`,
      );
    }
    for (const chainId of [31_337, 11_155_111])
      expect(signersOn(signersOfAll, chainId).get('dev')).toBeDefined();
  }
});

test('a key of somebody’s own signs everywhere', () => {
  const own = signersOn(signers(newWallet().address), 1);
  expect(own.get('own')).toBeDefined();
  expect(own.problem?.('own')).toBeUndefined();
});

test('a server signs nothing with such a key, whatever config it is given', () => {
  const { address } = HDNodeWallet.fromMnemonic(words, `m/44'/60'/0'/0/2`);
  const signerOn = (chainId: number) =>
    [...serveChain(aChainConfig({ chainId }), signers(address), silentLogger).profiles.values()].map((each) =>
      each.signer(),
    );
  expect(signerOn(1).every((signer) => signer === undefined)).toBe(true);
  expect(signerOn(31_337).every((signer) => signer !== undefined)).toBe(true);
});
