import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { getBytes, Interface } from 'ethers';
import { parseAddress } from '../../core/units/address.js';
import type { Hex } from '../../core/units/hex.js';
import type { ConditionType } from '../../core/meta/condition-reasons.js';
import { findCondition } from '../../core/meta/conditions.js';
import type { Chain, Chains } from '../../core/chain/chain.js';
import type { StakeSpec } from '../../core/resources/chain.js';
import { runCommand } from '../../cli/program.js';
import { devAccounts } from '../../standalone/dev-chain/dev-accounts.js';
import { aChain, aPaymaster } from '../build/resources.js';
import { sendAs } from '../chain/support/send-as.js';
import { encodeWith } from '../chain/support/account.js';
import { startDevChain, type DevChain } from '../chain/support/dev-chain.js';
import { signsBy } from '../build/signing.js';
import { until } from '../support/until.js';
import { turn } from './virtual-time.js';
import { conditionOf, startWorld, type World } from './world.js';
import { revertTo } from '../chain/support/revert-to.js';

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
/** Requests of the operator that have not been answered yet. */
let waiting = 0;
beforeAll(async () => {
  dev = await startDevChain();
  contract = dev.profile(version).sponsorship;
});
afterAll(() => dev.stop());
beforeEach(async () => {
  snapshot = await dev.chain.request('evm_snapshot', []);
  await start();
});

async function start(stake?: StakeSpec, staked = 'True/Staked'): Promise<void> {
  const address = parseAddress(dev.sponsorSigner.address);
  const sign = signsBy((digest) => getBytes(dev.sponsorSigner.signingKey.sign(digest).serialized));
  world = await startWorld({
    deps: {
      chains: counted(dev.chains),
      signers: { get: () => ({ address, implementation: 'test', sign }) },
    },
  });
  const { layout, entryPoint, sponsorship, options } = dev.profile(version);
  await world.apply(
    aChain({
      rpc: { urls: [dev.url] },
      ...(stake === undefined ? {} : { stake }),
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
  await becomes('Staked', staked);
  await becomes('Deposited', 'True/Deposited');
  await becomes('Serving', 'True/Serving');
}

afterEach(async () => {
  await world.close();
  await revertTo(dev.chain, snapshot);
});

async function conditionsOfProfile() {
  const [profile] = (await world.get('Chain', 'dev')).status?.profiles ?? [];
  return profile?.conditions ?? [];
}

/** The same chains, whose calls are counted until they are answered. */
function counted(chains: Chains): Pick<Chains, 'get'> {
  const get = (chain: object, name: string | symbol): unknown => {
    const method: unknown = Reflect.get(chain, name);
    if (typeof method !== 'function') return method;
    return async (...values: readonly unknown[]) => {
      waiting += 1;
      try {
        return (await Reflect.apply(method, chain, values)) as unknown;
      } finally {
        waiting -= 1;
      }
    };
  };
  return { get: (endpoint) => new Proxy<Chain>(chains.get(endpoint), { get }) };
}

const noticedWithinMs = 60_000;

/** Fails unless it comes true within a minute of the operator's time, which stands still while the chain is read. */
async function noticed(what: string, check: () => Promise<boolean>): Promise<void> {
  let passed = 0;
  await until(what, async () => {
    for (let turns = 0; turns < 20; turns += 1) await turn();
    if (await check()) return true;
    if (waiting === 0) {
      world.time.advance(500);
      passed += 500;
    }
    if (passed > noticedWithinMs) throw new Error(`a minute has passed, and not yet: ${what}`);
    return false;
  });
}

function becomes(type: ConditionType, want: string): Promise<void> {
  return noticed(`${type} is ${want}`, async () => {
    const found = findCondition(await conditionsOfProfile(), type);
    return found !== undefined && `${found.status}/${found.reason}` === want;
  });
}

const message = async (type: ConditionType) => findCondition(await conditionsOfProfile(), type)?.message;
const asOwner = (method: string, values: readonly unknown[]) =>
  sendAs(dev, owner, { to: contract, data: encodeWith(singleton, method, values) });

/** Types what the condition says, as the owner, who signs what it shows. */
async function obey(type: ConditionType, call: string): Promise<void> {
  const [command = ''] = /paymaster contract .*$/.exec((await message(type)) ?? '') ?? [];
  const typed = command.replace('OWNER', owner).replace('AMOUNT', '0.5').split(' ').slice(1);
  let shown = '';
  let said = '';
  const exit = await runCommand([...typed, '--output=json'], {
    env: { PAYMASTER_RPC_URL: dev.url },
    out: (text) => void (shown += text),
    error: (text) => void (said += text),
    readSecret: () => Promise.resolve(''),
  });
  expect([exit, shown, said]).toEqual([1, expect.stringContaining(call), expect.stringContaining('--yes')]);
  const { steps } = JSON.parse(shown) as { steps: { to: Hex; data: Hex; value: string }[] };
  for (const { to, data, value } of steps)
    await dev.chain.request('eth_sendTransaction', [
      { from: owner, to, data, value: `0x${BigInt(value).toString(16)}` },
    ]);
}

const stopped = async () => (await world.configs.getChain(dev.chainId))?.config.profiles[0]?.unusable?.reason;

describe('the operator notices on the chain that', () => {
  test('the signer was removed, and stops signing', async () => {
    await asOwner('removeSigner', [dev.sponsorSigner.address]);
    await becomes('SignerAuthorized', 'False/NotAuthorized');
    expect(await message('SignerAuthorized')).toContain(
      'as the owner of the contract: paymaster contract authorise',
    );
    await becomes('Serving', 'False/ContractUnusable');
    expect(await stopped()).toBe('SIGNER_NOT_AUTHORIZED');
    await obey('SignerAuthorized', 'addSigner');
    await becomes('SignerAuthorized', 'True/Authorized');
  });

  test('the stake was unlocked, which stops nothing', async () => {
    await asOwner('unlockStake', []);
    await becomes('Staked', 'False/Unlocked');
    expect(await message('Staked')).toContain('Stake it: paymaster contract stake');
    expect(await stopped()).toBeUndefined();
    await obey('Staked', 'addStake');
    await becomes('Staked', 'True/Staked');
  });

  test.each([
    { name: 'less', stake: { amount: '5000', unstakeDelaySeconds: 1 } },
    { name: 'for a shorter time', stake: { amount: '0.1', unstakeDelaySeconds: 31_536_000 } },
  ])('the stake is $name than bundlers ask for, and names what is missing', async ({ stake }) => {
    await world.close();
    await start(stake, 'False/TooLow');
    await obey('Staked', 'addStake');
    await becomes('Staked', 'True/Staked');
    expect(await stopped()).toBeUndefined();
  });

  test('the deposit was withdrawn, and the paymaster says so', async () => {
    const info = await dev.chain.call({
      to: dev.profile(version).entryPoint,
      data: `0x5287ce12${contract.slice(2).padStart(64, '0').toLowerCase()}`,
    });
    await asOwner('withdrawTo', [owner, BigInt(info.slice(0, 66))]);
    await becomes('Deposited', 'False/Empty');
    expect(await message('Deposited')).toContain('top it up: paymaster contract deposit');
    const shop = async (type: ConditionType) => conditionOf(await world.get('Paymaster', 'shop'), type);
    await noticed('the paymaster shows it', async () => (await shop('Funded')) === 'False/Empty');
    expect(await shop('Serving')).toBe('False/DepositEmpty');
    await obey('Deposited', 'depositTo');
    await becomes('Deposited', 'True/Deposited');
  });

  test('the code was replaced by one that answers as before, and stops signing', async () => {
    const code = await dev.chain.code(contract);
    await dev.chain.request('anvil_setCode', [contract, `${code}00`]);
    await becomes('CodeUnchanged', 'False/CodeChanged');
    await becomes('Serving', 'False/ContractUnusable');
    expect(await stopped()).toBe('CODE_CHANGED');
    expect(findCondition(await conditionsOfProfile(), 'HashMatches')?.status).toBe('True');
  });

  test('the code behind a proxy was replaced, although the proxy is the same, and stops signing', async () => {
    await world.close();
    const [first, second] = [`0x${'a1'.repeat(20)}`, `0x${'a2'.repeat(20)}`] as const;
    const code = await dev.chain.code(contract);
    await dev.chain.request('anvil_setCode', [first, code]);
    await dev.chain.request('anvil_setCode', [second, `${code}00`]);
    await dev.chain.request('anvil_setCode', [contract, proxy]);
    const point = (to: string) =>
      dev.chain.request('anvil_setStorageAt', [contract, `0x${slot}`, `0x${to.slice(2).padStart(64, '0')}`]);
    await point(first);
    await start();
    await point(second);
    await becomes('CodeUnchanged', 'False/CodeChanged');
    expect(await stopped()).toBe('CODE_CHANGED');
    await point(first);
    await becomes('CodeUnchanged', 'True/CodeUnchanged');
    expect(await stopped()).toBeUndefined();
  });
});

/** EIP-1967, and code that delegates every call to the address in this slot. */
const slot = '360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc';
const proxy = `0x365f5f375f5f365f7f${slot}545af43d5f5f3e6036573d5ffd5b3d5ff3`;
