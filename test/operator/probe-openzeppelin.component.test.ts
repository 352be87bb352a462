import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Wallet, getBytes, type BaseWallet } from 'ethers';
import { CallReverted, type Chain } from '../../core/chain/chain.js';
import type { ProfileConfig } from '../../core/config/chain-config.js';
import { layouts } from '../../core/paymaster/layouts.js';
import type { OpenZeppelinOptions } from '../../core/paymaster/openzeppelin/options.js';
import { parseAddress } from '../../core/units/address.js';
import { systemClock } from '../../core/units/time.js';
import { createProbe } from '../../operator/facts/probe.js';
import { contractFindings } from '../../operator/reconcilers/findings.js';
import { startDevChain, type DevChain } from '../chain/support/dev-chain.js';
import { deployOpenZeppelin, openZeppelinNames } from '../chain/support/open-zeppelin.js';
import type { TestProfile } from '../chain/support/user-op.js';
import { signsBy } from '../build/signing.js';

/** The probe against OpenZeppelin's contracts, which show their EIP-712 domain and no hash. */
let dev: DevChain;
let profiles: ReadonlyMap<string, TestProfile>;
beforeAll(async () => {
  dev = await startDevChain();
  profiles = await deployOpenZeppelin(dev);
});
afterAll(() => dev.stop());

function profileOf(name: string, changed: Partial<OpenZeppelinOptions> = {}): ProfileConfig {
  const { version, layout, entryPoint, sponsorship, options } = profiles.get(name)!;
  const openZeppelin = { ...options.openZeppelin!, ...changed };
  return {
    version,
    layout,
    entryPoint,
    sponsorship,
    signerFile: 'dev',
    options: { priceMarkup: 1_000_000, unaccountedGas: 50_000, openZeppelin },
  };
}

async function factsOf(profile: ProfileConfig, signer: BaseWallet = dev.sponsorSigner, chain = dev.chain) {
  const sign = signsBy((digest) => getBytes(signer.signingKey.sign(digest).serialized));
  const probe = createProbe({
    chain,
    config: { chainId: dev.chainId },
    layouts,
    signers: { get: () => ({ address: parseAddress(signer.address), implementation: 'test', sign }) },
    clock: systemClock,
  });
  return probe.profile(profile);
}

test.each(openZeppelinNames)('%s passes every check', async (name) => {
  expect(await factsOf(profileOf(name))).toMatchObject({
    code: 'CodePresent',
    entryPoint: 'EntryPointMatches',
    hash: 'HashMatches',
    signer: 'Authorized',
  });
});

test('a key other than the contract’s signer is not authorized', async () => {
  const facts = await factsOf(profileOf('openzeppelin-0.9'), new Wallet(`0x${'17'.repeat(32)}`));
  expect(facts).toMatchObject({ hash: 'HashMatches', signer: 'NotAuthorized' });
});

test.each([
  { name: 'name', domain: { domainName: 'Other Paymaster' }, said: 'name "Other Paymaster" and version "1"' },
  { name: 'version', domain: { domainVersion: '2' }, said: 'name "Test Paymaster" and version "2"' },
])('another $name than the contract answers is a condition that says so', async ({ domain, said }) => {
  const profile = profileOf('openzeppelin-0.9', domain);
  const facts = await factsOf(profile);
  expect(facts.hash).toBe('OtherHash');
  const [finding] = contractFindings(facts, profile).filter(({ type }) => type === 'HashMatches');
  expect(finding).toMatchObject({ status: 'False', reason: 'OtherHash' });
  expect(finding?.message).toContain(said);
  expect(finding?.message).toContain('correct options.openZeppelin of the profile');
});

test.each<{ contract: string; changed: Partial<OpenZeppelinOptions>; reason: string; said: string }>([
  {
    contract: 'openzeppelin-0.7',
    changed: { initCodeHash: 'Delegate' },
    reason: 'OtherInitCodeHash',
    said: 'made with initCodeHash "Delegate"',
  },
  {
    contract: 'openzeppelin-0.9',
    changed: { initCodeHash: 'Delegate' },
    reason: 'OtherInitCodeHash',
    said: 'made with initCodeHash "Delegate"',
  },
  {
    contract: 'openzeppelin-0.8 by delegate',
    changed: { initCodeHash: 'AsGiven' },
    reason: 'OtherInitCodeHash',
    said: 'made with initCodeHash "AsGiven"',
  },
  {
    contract: 'openzeppelin-0.9',
    changed: { readsPaymasterSignature: true },
    reason: 'TailNotRead',
    said: 'set options.openZeppelin.readsPaymasterSignature of the profile to false',
  },
])('$changed for contract $contract is a condition that says so', async ({ contract, changed, ...want }) => {
  const profile = profileOf(contract, changed);
  const facts = await factsOf(profile);
  const [finding] = contractFindings(facts, profile).filter(({ type }) => type === 'HashMatches');
  expect(finding).toMatchObject({ status: 'False', reason: want.reason });
  expect(finding?.message).toContain(want.said);
});

test('a contract that reads the tail may be served as one that does not', async () => {
  const profile = profileOf('openzeppelin-0.9 with tail', { readsPaymasterSignature: false });
  expect((await factsOf(profile)).hash).toBe('HashMatches');
});

test('a contract that reverts for the account of the probe is not blamed', async () => {
  const chain: Chain = {
    ...dev.chain,
    call: (request) =>
      request.from === undefined
        ? dev.chain.call(request)
        : Promise.reject(new CallReverted('0x', 'not on the list')),
  };
  expect((await factsOf(profileOf('openzeppelin-0.9'), undefined, chain)).hash).toBe('HashMatches');
});
