import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { dirname, join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { Interface, getCreateAddress } from 'ethers';
import { entryPoint07 } from '../../core/entry-point/v07.js';
import type { Hex } from '../../core/units/hex.js';
import { parseAddress } from '../../core/units/address.js';
import { parseEther } from '../../core/units/wei.js';
import { deterministicDeployer } from '../../standalone/dev-chain/transactor.js';
import { buildAccount } from '../chain/support/account.js';
import { handleOp } from '../chain/support/handle-ops.js';
import { deploySafe } from '../chain/support/safe.js';
import { buildUserOp, sponsorUserOp } from '../chain/support/user-op.js';
import { createNodes } from '../chain/support/nodes.js';
import { repositoryRoot } from '../support/repository-root.js';
import { until } from '../support/until.js';
import { useStarted } from '../support/use-started.js';
import { newWallet } from '../support/new-wallet.js';
import { emptyChainId, startEmptyChain } from './empty-chain.js';
import { revertTo } from '../chain/support/revert-to.js';

// Each test is somebody who would lose money by what he types, or an attacker who counts on it.

const chain = useStarted(() => startEmptyChain({ hasDeployer: true }), 300_000);
const sending = () => ['--yes', '--key-file', chain.keyFile];

/** Another contract for each test, by another signer. */
function which(layout: string, more: { owner?: string; signer?: string; chainId?: number } = {}) {
  const { owner = chain.stranger.address, signer = newWallet().address, chainId = emptyChainId } = more;
  return ['--layout', layout, '--chain', String(chainId), '--owner', owner, '--signer', signer];
}

/** Deploys it and answers its address. */
async function deployed(args: readonly string[]): Promise<string> {
  const { out, error, status } = await chain.run([
    'deploy',
    ...args,
    '--unaudited',
    ...sending(),
    '-o',
    'json',
  ]);
  if (status !== 0) throw new Error(error);
  return String(JSON.parse(out).address);
}

/** What the command answers, having sent nothing. */
async function refused(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const before = await chain.nonce();
  const { out, error, status } = await chain.run(args, env);
  expect(await chain.nonce()).toBe(before);
  return { out, error, status };
}

test('the signer never owns the contract: anyone who steals the hot key would have the deposit', async () => {
  const both = newWallet().address;
  const args = which('singleton-0.7', { owner: both, signer: both });
  for (const verb of ['plan', 'deploy'])
    expect(await refused([verb, ...args])).toMatchObject({
      status: 2,
      error: expect.stringContaining('--signer must be another account than the owner'),
    });
  // Nor one that somebody else has deployed so.
  const owner = newWallet();
  const found = await deployed(which('verifying-0.9', { signer: owner.address }));
  const theirs = which('verifying-0.9', { owner: newWallet().address, signer: chain.stranger.address });
  const { out, status } = await chain.run(['status', ...theirs, '--address', found]);
  expect(status).toBe(1);
  expect(out).toContain('the signer administers the contract');
});

test('a contract does not belong to the deployer contract, nor to nobody', async () => {
  for (const owner of [deterministicDeployer, `0x${'00'.repeat(20)}`])
    expect(await refused(['deploy', ...which('singleton-0.7', { owner })])).toMatchObject({
      status: 2,
      error: expect.stringContaining('--owner must be an account that can send transactions'),
    });
});

test('another chain than the one that is meant gets nothing', async () => {
  const args = which('singleton-0.7', { chainId: 8453 });
  expect(await refused(['deploy', ...args, ...sending()])).toMatchObject({
    status: 1,
    error: `error: the node is of chain ${emptyChainId}, not of 8453\n`,
  });
});

test('depositTo is never used for a contract with balances per sponsor, whatever layout it is said to have', async () => {
  const signer = newWallet().address;
  const hybrid = await deployed(which('vendor-2.x', { signer }));
  const sponsor = newWallet().address;
  for (const layout of ['singleton-0.7', 'verifying-0.7'])
    expect(
      await refused([
        'deposit',
        ...which(layout, { signer }),
        '--address',
        hybrid,
        '--up-to',
        '1',
        ...sending(),
      ]),
    ).toMatchObject({
      status: 1,
      error: expect.stringContaining(`${hybrid} is not a contract of ${layout}`),
    });
  expect(
    await refused(['deposit', ...which('vendor-2.x', { signer }), '--up-to', '1', ...sending()]),
  ).toMatchObject({
    status: 2,
    error: expect.stringContaining('--sponsor must be whose balance it is'),
  });
  const args = [...which('vendor-2.x', { signer }), '--sponsor', sponsor];
  expect(await chain.run(['deposit', ...args, '--up-to', '0.2', ...sending()])).toMatchObject({ status: 0 });
  const { out } = await chain.run(['status', ...args, '-o', 'json']);
  expect(JSON.parse(out).contract.balance).toBe(String(parseEther('0.2')));
});

test('no money goes where no contract is, or to one of somebody else', async () => {
  const args = which('singleton-0.7');
  for (const verb of ['deposit', 'stake'])
    expect(await refused([verb, ...args, '--up-to', '1', ...sending()])).toMatchObject({
      status: 1,
      error: expect.stringContaining('what is sent there may be lost'),
    });
  const signer = newWallet().address;
  const theirs = await deployed(which('singleton-0.7', { owner: newWallet().address, signer }));
  const claimed = which('singleton-0.7', { signer });
  expect(
    await refused(['deposit', ...claimed, '--address', theirs, '--up-to', '1', ...sending()]),
  ).toMatchObject({ status: 1, error: expect.stringContaining('does not belong to') });
});

test('a contract that only answers like the one of the layout is named as such before it is paid', async () => {
  const args = which('verifying-0.9');
  const address = await deployed(args);
  const at = [...args, '--address', address];
  expect((await chain.run(['status', ...at])).out).toContain('code       that of VerifyingPaymaster09');
  // It does the same, and a byte more that nobody has read.
  await chain.chain.request('anvil_setCode', [address, `${await chain.chain.code(address)}00`]);
  expect((await chain.run(['status', ...at])).out).toContain('code       not that of VerifyingPaymaster09');
  const { error } = await refused(['deposit', ...at, '--up-to', '1']);
  expect(error).toContain(`${address} runs other code than we ship`);
});

test('verifying-0.7 never goes through the deployer contract, which would own it for ever, and is given to its owner', async () => {
  const owner = newWallet().address;
  const args = which('verifying-0.7', { owner });
  const shown = await chain.run(['deploy', ...args, '-o', 'json']);
  expect(JSON.parse(shown.out).steps).toMatchObject([{ verb: 'deploy', to: null }]);
  expect(
    await refused(['deploy', ...args, '--safe', join(dirname(chain.keyFile), 'safe.json')]),
  ).toMatchObject({
    status: 1,
    error: expect.stringContaining('a Safe cannot make this contract'),
  });
  const planned = await chain.run(['plan', ...args, '--from', chain.stranger.address]);
  expect(planned.out).toContain(`transferOwnership(newOwner: ${owner})`);
  const before = await chain.nonce();
  const address = await deployed(args);
  expect(address).toBe(getCreateAddress({ from: chain.stranger.address, nonce: before }));
  // One transaction makes it, the second one gives it away; and the same command makes no other one.
  expect(await chain.nonce()).toBe(before + 2);
  expect(await deployed(args)).toBe(address);
  expect(await chain.nonce()).toBe(before + 2);
  const { out } = await chain.run(['status', ...args, '--address', address, '-o', 'json']);
  expect(JSON.parse(out).contract).toMatchObject({ isOwned: true, isSignerAccepted: true });
});

test('what nobody has audited is deployed only by --unaudited, and what we may not ship not at all', async () => {
  for (const layout of ['vendor-1.1.0', 'vendor-2.x', 'verifying-0.9', 'hybrid-0.9'])
    expect(await refused(['deploy', ...which(layout), ...sending()])).toMatchObject({
      status: 1,
      error: expect.stringContaining('not audited: --unaudited deploys it all the same'),
    });
  for (const layout of ['openzeppelin-0.7', 'openzeppelin-0.8', 'openzeppelin-0.9'])
    expect(await refused(['deploy', ...which(layout), '--unaudited', ...sending()])).toMatchObject({
      status: 1,
      error: expect.stringContaining('deploy it yourself: a contract of yours on PaymasterSigner'),
    });
});

test('a Safe owns the contract: its file does what the stranger may not, and not without enough of its owners', async () => {
  const owners = [newWallet(), newWallet(), newWallet()];
  const safe = await deploySafe(
    chain.chain,
    chain.transactor,
    owners.map(({ address }) => address),
    2,
  );
  const owner = safe.address;
  await chain.setBalance(owner, parseEther('1'));
  const args = which('singleton-0.7', { owner, signer: chain.sponsorSigner.address });
  const address = parseAddress(await deployed(args));
  expect(await refused(['stake', ...args, '--up-to', '0.1', ...sending()])).toMatchObject({
    status: 1,
    error: expect.stringContaining(`has to be sent by the owner ${owner}`),
  });

  const file = join(dirname(chain.keyFile), 'stake.json');
  expect(await refused(['stake', ...args, '--up-to', '0.1', '--safe', file])).toMatchObject({ status: 0 });
  const batch = JSON.parse(readFileSync(file, 'utf8'));
  expect(batch).toMatchObject({ chainId: String(emptyChainId), meta: { createdFromSafeAddress: owner } });
  // What the Safe's application makes of it: a call from the names and values, equal to the data.
  const calls = [];
  for (const { to, value, data, contractMethod, contractInputsValues } of batch.transactions) {
    const call = new Interface([{ type: 'function', ...contractMethod }]);
    const values = contractMethod.inputs.map((input: { name: string }) => contractInputsValues[input.name]);
    expect(call.encodeFunctionData(contractMethod.name, values)).toBe(data);
    calls.push({ to, value: BigInt(value), data });
  }
  await expect(safe.execute(calls, owners.slice(0, 1))).rejects.toThrow('GS020');
  await safe.execute(calls, owners.slice(1));
  const { out } = await chain.run(['status', ...args, '-o', 'json']);
  expect(JSON.parse(out)).toMatchObject({
    missing: ['deposit'],
    contract: { isStaked: true, stake: String(parseEther('0.1')), ownerHasCode: true },
  });
  // Paying in needs no right.
  expect(await chain.run(['deposit', ...args, '--up-to', '0.5', ...sending()])).toMatchObject({ status: 0 });
  const profile = {
    version: 'singleton-0.7',
    layout: 'singleton-0.7',
    entryPoint: entryPoint07.address,
    entryPointVersion: '0.7',
    sponsorship: address,
    options: {},
  } as const;
  const sponsored = await buildAccount(chain, '0.7');
  const op = await buildUserOp(sponsored, [{ to: owner, data: '0x' }]);
  const { event } = await handleOp(chain, '0.7', await sponsorUserOp(chain, profile, sponsored, op));
  expect(event).toMatchObject({ success: true, paymaster: address.toLowerCase() });
});

test('a key that others may read, a price above the bound and too little money send nothing', async () => {
  const args = ['deploy', ...which('singleton-0.7')];
  const open = join(dirname(chain.keyFile), 'open-key');
  writeFileSync(open, chain.stranger.privateKey);
  chmodSync(open, 0o644);
  const env = {};
  expect(await refused([...args, '--yes', '--key-file', open], env)).toMatchObject({
    status: 2,
    error: expect.stringContaining('readable by its owner only'),
  });
  expect(await refused([...args, '--yes'])).toMatchObject({ status: 2 });
  // Before anything is sent, not after.
  expect(await refused([...args, ...sending(), '--manifests', dirname(chain.keyFile)])).toMatchObject({
    status: 2,
    error: expect.stringContaining('--chain must be a manifest with one Chain'),
  });
  expect(await refused([...args, ...sending(), '--max-gas-price', '0.000000001'])).toMatchObject({
    status: 1,
    error: expect.stringContaining('more than --max-gas-price 0.000000001'),
  });
  const poor = newWallet();
  const poorKey = join(dirname(chain.keyFile), 'poor-key');
  writeFileSync(poorKey, poor.privateKey, { mode: 0o600 });
  await chain.setBalance(parseAddress(poor.address), 1n);
  const { error, status } = await chain.run([...args, '--yes', '--key-file', poorKey]);
  expect({ error, status }).toMatchObject({
    status: 1,
    error: expect.stringContaining('has 0.000000000000000001 and needs'),
  });
  expect(await chain.nonce(poor.address)).toBe(0);
});

test('a command that is killed before its transaction is mined sends the same one again, and no other', async () => {
  const args = which('singleton-0.7');
  await deployed(args);
  const deposit = ['deposit', ...args, '--up-to', '0.3', ...sending()];
  const before = await chain.nonce();
  await chain.chain.request('evm_setAutomine', [false]);
  const child = spawn(join(repositoryRoot, 'bin/paymaster'), ['contract', ...deposit], {
    env: { PATH: process.env['PATH'], ...chain.env },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const pending = async () =>
    Number(await chain.chain.request('eth_getTransactionCount', [chain.stranger.address, 'pending']));
  await until('it is in the pool', async () => (await pending()) === before + 1);
  child.kill('SIGKILL');
  await once(child, 'exit');
  // A node that forgets it, as nodes do when they restart.
  const records = join(
    dirname(chain.keyFile),
    'paymaster',
    `sent-${emptyChainId}-${chain.stranger.address.toLowerCase()}.json`,
  );
  const { hash } = JSON.parse(readFileSync(records, 'utf8')).at(-1) as { hash: Hex };
  await chain.chain.request('anvil_dropTransaction', [hash]);
  await chain.chain.request('evm_setAutomine', [true]);

  const again = await chain.run(deposit);
  expect(again).toMatchObject({
    status: 0,
    error: expect.stringContaining('sending the same transaction again'),
  });
  expect(await chain.nonce()).toBe(before + 1);
  expect(await chain.chain.request('eth_getTransactionReceipt', [hash])).toMatchObject({ status: '0x1' });
});

test('a deposit that a reorganisation takes back is sent again as it was', async () => {
  const args = which('singleton-0.7');
  await deployed(args);
  const snapshot = await chain.chain.request('evm_snapshot', []);
  const deposit = ['deposit', ...args, '--up-to', '0.3', ...sending(), '-o', 'json'];
  const first = await chain.run(deposit);
  const [{ hash }] = JSON.parse(first.out).sent;
  const nonce = await chain.nonce();
  await revertTo(chain.chain, snapshot);
  expect(await chain.nonce()).toBe(nonce - 1);
  // Another price of gas: a transaction that is made anew is another one.
  await chain.chain.request('anvil_mine', ['0x5']);
  expect(await chain.run(deposit)).toMatchObject({ status: 0 });
  expect(await chain.nonce()).toBe(nonce);
  expect(await chain.chain.request('eth_getTransactionReceipt', [hash])).toMatchObject({ status: '0x1' });
});

test('two commands at once send one transaction', async () => {
  const args = which('singleton-0.7');
  await deployed(args);
  const before = await chain.nonce();
  const deposit = ['deposit', ...args, '--up-to', '0.4', ...sending()];
  let other: ReturnType<typeof chain.run> | undefined;
  const nodes = createNodes(() => chain.url);
  // The other one begins and ends while the first is about to send.
  const url = await nodes.proxy(async (method): Promise<'pass'> => {
    if (method === 'eth_sendRawTransaction') await (other ??= chain.run(deposit));
    return 'pass';
  });
  try {
    expect(await chain.run(deposit, { PAYMASTER_RPC_URL: url })).toMatchObject({ status: 0 });
    expect(await other).toMatchObject({ status: 1 });
    expect(await chain.nonce()).toBe(before + 1);
  } finally {
    await nodes.stop();
  }
});

test.each(['eth_getTransactionCount pending', 'eth_maxPriorityFeePerGas', 'eth_sendRawTransaction'])(
  'another machine, which shares no record, sends while this one is at %s: one transaction is mined',
  async (moment) => {
    const args = which('singleton-0.7');
    await deployed(args);
    const before = await chain.nonce();
    const deposit = ['deposit', ...args, '--up-to', '0.4', ...sending()];
    let elsewhere: ReturnType<typeof chain.run> | undefined;
    const nodes = createNodes(() => chain.url);
    const url = await nodes.proxy(async (method, params): Promise<'pass'> => {
      if (!moment.startsWith(method) || (moment.endsWith('pending') && params[1] !== 'pending'))
        return 'pass';
      elsewhere ??= chain.run(deposit, { XDG_STATE_HOME: join(dirname(chain.keyFile), 'elsewhere') });
      await elsewhere;
      return 'pass';
    });
    try {
      await chain.run(deposit, { PAYMASTER_RPC_URL: url });
      expect(await elsewhere).toMatchObject({ status: 0 });
      expect(await chain.nonce()).toBe(before + 1);
    } finally {
      await nodes.stop();
    }
    // Nothing of the one that lost is left to be sent.
    expect(await chain.run(deposit)).toMatchObject({ status: 0 });
    expect(await chain.nonce()).toBe(before + 1);
    const { out } = await chain.run(['status', ...args, '-o', 'json']);
    expect(JSON.parse(out).contract.deposit).toBe(String(parseEther('0.4')));
  },
);

test('another signer, the stake and the deposit: what goes in comes out, once', async () => {
  const address = await deployed(which('singleton-0.7'));
  const args = [...which('singleton-0.7'), '--address', address];
  const levels: readonly (readonly string[])[] = [
    ['authorise'],
    ['deposit', '--up-to', '0.3'],
    ['stake', '--up-to', '0.1', '--unstake-delay', '60'],
  ];
  for (const level of levels)
    expect(await chain.run([...level, ...args, ...sending()])).toMatchObject({ status: 0 });
  const to = newWallet().address;
  const unstake = ['unstake', ...args, '--to', to, ...sending()];
  expect(await chain.run(unstake)).toMatchObject({ status: 0 });
  expect(await refused(unstake)).toMatchObject({
    status: 1,
    error: expect.stringContaining('can be taken out from'),
  });
  await chain.chain.request('evm_increaseTime', [61]);
  await chain.chain.request('evm_mine', []);
  expect(await chain.run(unstake)).toMatchObject({ status: 0 });
  const withdraw = ['withdraw', ...args, '--to', to, '--leave', '0.1', ...sending()];
  expect(await chain.run(withdraw)).toMatchObject({ status: 0 });
  expect(await refused(withdraw)).toMatchObject({
    status: 0,
    error: 'nothing to send: it is there already\n',
  });
  expect(await chain.chain.balance(to)).toBe(parseEther('0.3'));
});

test('no transaction has a tip that the chain does not take, whatever the node suggests', async () => {
  const file = join(dirname(chain.keyFile), 'chain.yaml');
  const example = readFileSync(join(repositoryRoot, 'examples/chains/polygon.yaml'), 'utf8');
  writeFileSync(file, example.replace('chainId: 137', `chainId: ${emptyChainId}`));
  const args = which('singleton-0.7').map((word) => (word === String(emptyChainId) ? file : word));
  const { out, status } = await chain.run(['deploy', ...args, ...sending(), '-o', 'json']);
  expect(status).toBe(0);
  const [{ hash }] = JSON.parse(out).sent;
  const sent = await chain.chain.request('eth_getTransactionByHash', [hash]);
  expect(sent).toMatchObject({ maxPriorityFeePerGas: '0x5d21dba00' });
});

describe('remove-signer', () => {
  test('takes the right away from the old key alone, once, and only for the owner', async () => {
    const [old, next] = [newWallet().address, newWallet().address];
    const address = await deployed(which('singleton-0.7', { signer: old }));
    const ofSigner = (signer: string) => [...which('singleton-0.7', { signer }), '--address', address];
    expect(await chain.run(['authorise', ...ofSigner(next), ...sending()])).toMatchObject({ status: 0 });

    const shown = await refused(['remove-signer', ...ofSigner(old)]);
    expect(shown).toMatchObject({ status: 1, error: expect.stringContaining('nothing was sent') });
    expect(shown.out).toContain(`removeSigner(signer: ${old})`);
    const safe = join(dirname(chain.keyFile), 'remove.json');
    expect(await refused(['remove-signer', ...ofSigner(old), '--safe', safe])).toMatchObject({ status: 0 });
    expect(JSON.parse(readFileSync(safe, 'utf8')).transactions).toMatchObject([
      { to: address, contractMethod: { name: 'removeSigner' }, contractInputsValues: { signer: old } },
    ]);
    const mallory = newWallet();
    const file = join(dirname(chain.keyFile), 'mallory');
    writeFileSync(file, mallory.privateKey, { mode: 0o600 });
    const theirs = ['remove-signer', ...ofSigner(old), '--yes', '--key-file', file];
    expect(await refused(theirs)).toMatchObject({
      status: 1,
      error: expect.stringContaining('has to be sent by the owner'),
    });

    const remove = ['remove-signer', ...ofSigner(old), ...sending()];
    expect(await chain.run(remove)).toMatchObject({
      status: 0,
      error: expect.stringContaining('What it has signed and nobody has mined is void'),
    });
    const accepts = async (signer: string) => {
      const { out } = await chain.run(['status', ...ofSigner(signer), '-o', 'json']);
      return JSON.parse(out).contract.isSignerAccepted;
    };
    expect([await accepts(old), await accepts(next)]).toEqual([false, true]);
    expect(await refused(remove)).toMatchObject({
      status: 0,
      error: expect.stringContaining('nothing to send: it is there already'),
    });
  });

  test.each(['verifying-0.7', 'verifying-0.9', 'hybrid-0.9', 'vendor-1.1.0', 'vendor-2.x'])(
    'of %s, which has one signer, sends nothing',
    async (layout) => {
      const args = which(layout);
      const address = await deployed(args);
      const { status, error } = await refused(['remove-signer', ...args, '--address', address, ...sending()]);
      expect(status).toBe(1);
      expect(error).toContain('no call in common that does this');
    },
  );
});
