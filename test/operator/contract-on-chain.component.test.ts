import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { getBytes, Interface } from 'ethers';
import { parseAddress } from '../../core/units/address.js';
import type { Hex } from '../../core/units/hex.js';
import type { ConditionType } from '../../core/meta/condition-reasons.js';
import { findCondition } from '../../core/meta/conditions.js';
import { devAccounts } from '../../standalone/dev-chain/dev-accounts.js';
import { aChain, aPaymaster } from '../build/resources.js';
import { sendAs } from '../attacks/support/wallet.js';
import { encodeWith } from '../chain/support/account.js';
import { startDevChain, type DevChain } from '../chain/support/dev-chain.js';
import { signsBy } from '../build/signing.js';
import { until } from '../support/until.js';
import { turn } from './virtual-time.js';
import { conditionOf, startWorld, type World } from './world.js';

/** What the operator notices of a real contract that its owner, or somebody else, changes on chain. */
const singleton = new Interface([
  'function removeSigner(address)',
  'function unlockStake()',
  'function withdrawTo(address, uint256)',
]);
const version = 'singleton-0.7';
const owner = devAccounts.deployer.address;

let dev: DevChain;
let world: World;
let contract: Hex;
let snapshot: unknown;
beforeAll(async () => {
  dev = await startDevChain();
  contract = dev.profile(version).sponsorship;
}, 300_000);
afterAll(() => dev.stop());
beforeEach(async () => {
  snapshot = await dev.chain.request('evm_snapshot', []);
  const address = parseAddress(dev.sponsorSigner.address);
  const sign = signsBy((digest) => getBytes(dev.sponsorSigner.signingKey.sign(digest).serialized));
  world = await startWorld({
    deps: { chains: dev.chains, signers: { get: () => ({ address, implementation: 'test', sign }) } },
  });
  const { layout, entryPoint, sponsorship, options } = dev.profile(version);
  await world.apply(
    aChain({
      rpc: { urls: [dev.url] },
      profiles: [
        {
          version,
          layout,
          entryPoint,
          addresses: { sponsorship },
          signer: { file: 'dev' },
          options,
          defaultFunding: { address: owner, organisations: ['*'] },
        },
      ],
    }),
    aPaymaster({ version }),
  );
  await becomes('CodeUnchanged', 'True/CodeUnchanged');
  await becomes('Staked', 'True/Staked');
  await becomes('Deposited', 'True/Deposited');
  await becomes('Serving', 'True/Serving');
});
afterEach(async () => {
  await world.close();
  await dev.chain.request('evm_revert', [snapshot]);
});

async function conditionsOfProfile() {
  const [profile] = (await world.get('Chain', 'dev')).status?.profiles ?? [];
  return profile?.conditions ?? [];
}

async function becomes(type: ConditionType, want: string): Promise<void> {
  await until(`${type} is ${want}`, async () => {
    // Reading the chain takes real time, and waiting for the next round none.
    world.time.advance(1_000);
    await turn();
    const found = findCondition(await conditionsOfProfile(), type);
    return found !== undefined && `${found.status}/${found.reason}` === want;
  });
}

const message = async (type: ConditionType) => findCondition(await conditionsOfProfile(), type)?.message;
const asOwner = (method: string, values: readonly unknown[]) =>
  sendAs(dev, owner, { to: contract, data: encodeWith(singleton, method, values) });
const stopped = async () => (await world.configs.getChain(dev.chainId))?.config.profiles[0]?.unusable?.reason;

describe('the operator notices on the chain that', () => {
  test('the signer was removed, and stops signing', async () => {
    await asOwner('removeSigner', [dev.sponsorSigner.address]);
    await becomes('SignerAuthorized', 'False/NotAuthorized');
    expect(await message('SignerAuthorized')).toContain('authorise it there as the owner of the contract');
    await becomes('Serving', 'False/ContractUnusable');
    expect(await stopped()).toBe('SIGNER_NOT_AUTHORIZED');
  });

  test('the stake was unlocked, which stops nothing', async () => {
    await asOwner('unlockStake', []);
    await becomes('Staked', 'False/Unlocked');
    expect(await message('Staked')).toContain('Stake it by addStake of the contract.');
    expect(await stopped()).toBeUndefined();
  });

  test('the deposit was withdrawn, and the paymaster says so', async () => {
    const info = await dev.chain.call({
      to: dev.profile(version).entryPoint,
      data: `0x5287ce12${contract.slice(2).padStart(64, '0').toLowerCase()}`,
    });
    await asOwner('withdrawTo', [owner, BigInt(info.slice(0, 66))]);
    await becomes('Deposited', 'False/Empty');
    expect(await message('Deposited')).toContain('top it up by the deposit function of the contract');
    await until('the paymaster shows it', async () => {
      world.time.advance(1_000);
      await turn();
      return conditionOf(await world.get('Paymaster', 'shop'), 'Funded') === 'False/Empty';
    });
  });

  test('the code was replaced by one that answers as before, and stops signing', async () => {
    const code = await dev.chain.code(contract);
    await dev.chain.request('anvil_setCode', [contract, `${code}00`]);
    await becomes('CodeUnchanged', 'False/CodeChanged');
    await becomes('Serving', 'False/ContractUnusable');
    expect(await stopped()).toBe('CODE_CHANGED');
    expect(findCondition(await conditionsOfProfile(), 'HashMatches')?.status).toBe('True');
  });
});
