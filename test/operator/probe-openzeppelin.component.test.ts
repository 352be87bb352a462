import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Wallet } from 'ethers';
import type { ProfileConfig } from '../../core/config/chain-config.js';
import { layouts } from '../../core/paymaster/layouts.js';
import { parseAddress } from '../../core/units/address.js';
import { systemClock } from '../../core/units/time.js';
import { createProbe } from '../../operator/facts/probe.js';
import { contractFindings } from '../../operator/reconcilers/findings.js';
import { startDevChain, type DevChain } from '../chain/support/dev-chain.js';
import { deployOpenZeppelin, openZeppelinNames } from '../chain/support/open-zeppelin.js';
import type { TestProfile } from '../chain/support/user-op.js';

/** The probe against OpenZeppelin's contracts, which show their EIP-712 domain and no hash. */
let dev: DevChain;
let profiles: ReadonlyMap<string, TestProfile>;
beforeAll(async () => {
  dev = await startDevChain();
  profiles = await deployOpenZeppelin(dev);
}, 300_000);
afterAll(() => dev.stop());

function profileOf(
  name: string,
  domain: { domainName?: string; domainVersion?: string } = {},
): ProfileConfig {
  const { version, layout, entryPoint, sponsorship, options } = profiles.get(name)!;
  const openZeppelin = { ...options.openZeppelin!, ...domain };
  return {
    version,
    layout,
    entryPoint,
    sponsorship,
    signerFile: 'dev',
    options: { priceMarkup: 1_000_000, unaccountedGas: 50_000, openZeppelin },
  };
}

async function factsOf(profile: ProfileConfig, signer = dev.sponsorSigner.address) {
  const probe = createProbe({
    chain: dev.chain,
    config: { chainId: dev.chainId },
    layouts,
    signers: { get: () => ({ address: parseAddress(signer), implementation: 'test', sign: () => [] }) },
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
  const facts = await factsOf(profileOf('openzeppelin-0.9'), Wallet.createRandom().address);
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
