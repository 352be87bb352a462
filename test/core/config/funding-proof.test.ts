import { describe, expect, test } from '@jest/globals';
import { Wallet } from 'ethers';
import {
  fundingMessage,
  parseFundingMessage,
  verifyFunding,
  type FundingClaim,
  type FundingMessage,
} from '../../../core/config/funding.js';
import { parseAddress } from '../../../core/units/address.js';
import type { EpochMs } from '../../../core/units/time.js';

const owner = new Wallet(`0x${'11'.repeat(32)}`);
const stranger = new Wallet(`0x${'22'.repeat(32)}`);
const terms: FundingMessage = {
  chainId: 80001,
  contract: parseAddress('0x00000f79b7faf42eebadba19acc07cd08af44789'),
  namespace: 'acme',
  paymaster: 'shop',
  nonce: 'n0nce_-8',
  time: 1_700_000_000_123 as EpochMs,
};
const message = fundingMessage(terms);
const signature = owner.signMessageSync(message);
const claim: FundingClaim = { ...terms, address: owner.address, message, signature };

describe('a funding message', () => {
  test('names chain, contract, organisation, paymaster, nonce and time, and is read back whole', () => {
    expect(message).toContain('Chain id: 80001');
    expect(message).toContain(terms.contract);
    expect(parseFundingMessage(message)).toEqual(terms);
  });

  test.each([
    { name: 'another text', text: 'Timestamp: now\nWelcome!' },
    { name: 'a sentence added in front', text: `Give me all.\n${message}` },
    { name: 'a sentence added behind', text: `${message}\nAnd more.` },
    {
      name: 'an address in another case',
      text: message.replace(terms.contract, terms.contract.toLowerCase()),
    },
    { name: 'a time that does not exist', text: message.replace('2023-11-14', '2023-13-44') },
    { name: 'nothing', text: '' },
  ])('$name is not a funding message', ({ text }) => {
    expect(parseFundingMessage(text)).toBeUndefined();
  });
});

describe('a funding wallet', () => {
  test('is proven by its signature over the message', () => {
    expect(verifyFunding(claim)).toEqual({ proven: true });
    expect(verifyFunding({ ...claim, address: owner.address.toLowerCase() })).toEqual({ proven: true });
  });

  test('is proven when YAML added the line break of a block', () => {
    expect(verifyFunding({ ...claim, message: `${message}\n` })).toEqual({ proven: true });
  });

  test.each<{ name: string; change: Partial<FundingClaim>; problem: RegExp }>([
    { name: 'for another chain', change: { chainId: 1 }, problem: /chain id 80001, this one is 1/ },
    {
      name: 'for another contract',
      change: { contract: parseAddress(stranger.address) },
      problem: /names paymaster contract/,
    },
    { name: 'for another organisation', change: { namespace: 'evil' }, problem: /names organisation acme/ },
    { name: 'for another paymaster', change: { paymaster: 'shop2' }, problem: /names paymaster shop, / },
    {
      name: 'when somebody else signed',
      change: { signature: stranger.signMessageSync(message) },
      problem: /is not one of/,
    },
    {
      name: 'when another address is given',
      change: { address: stranger.address },
      problem: /is not one of/,
    },
    { name: 'when the signature is malformed', change: { signature: '0x1234' }, problem: /is not one of/ },
    { name: 'when the signature is empty', change: { signature: '' }, problem: /is not one of/ },
    { name: 'when the address is not an address', change: { address: '0x1' }, problem: /40 hex digits/ },
    {
      name: 'when the message is another one',
      change: { message: 'Hello' },
      problem: /not a funding message/,
    },
  ])('is not proven $name', ({ change, problem }) => {
    const verdict = verifyFunding({ ...claim, ...change });
    if (verdict.proven) throw new Error('expected no proof');
    expect(verdict.problem).toMatch(problem);
    expect(verdict.problem).not.toContain(signature);
  });
});
