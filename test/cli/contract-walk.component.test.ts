import { describe, expect, test } from '@jest/globals';
import { Interface } from 'ethers';
import { entryPoint07 } from '../../core/entry-point/v07.js';
import { layoutIds } from '../../core/paymaster/layout.js';
import { layouts } from '../../core/paymaster/layouts.js';
import { parseAddress } from '../../core/units/address.js';
import { parseEther } from '../../core/units/wei.js';
import { buildAccount, encodeWith } from '../chain/support/account.js';
import { deployOpenZeppelin } from '../chain/support/open-zeppelin.js';
import { handleOp } from '../chain/support/handle-ops.js';
import { buildUserOp, sponsorUserOp } from '../chain/support/user-op.js';
import { useStarted } from '../support/use-started.js';
import { newWallet } from '../support/new-wallet.js';
import { emptyChainId, startEmptyChain } from './empty-chain.js';

const counter = new Interface(['function increment()', 'function counts(address) view returns (uint256)']);

describe.each([
  { name: 'with the deterministic deployer', hasDeployer: true },
  { name: 'without the deterministic deployer', hasDeployer: false },
])('an empty chain $name', ({ hasDeployer }) => {
  const chain = useStarted(() => startEmptyChain({ hasDeployer }), 300_000);

  test('a stranger with one key gets from a plan to a mined sponsored operation', async () => {
    const owner = newWallet().address;
    const which = [
      '--layout',
      'singleton-0.7',
      '--chain',
      String(emptyChainId),
      '--signer',
      chain.sponsorSigner.address,
    ];
    // The owner of the walk is the stranger; later it may be anybody.
    const mine = [...which, '--owner', chain.stranger.address];
    const sending = ['--yes', '--key-file', chain.keyFile];

    const planned = await chain.run(['plan', ...mine, '--deposit', '0.5', '--stake', '0.1']);
    expect(planned).toMatchObject({ status: 0, error: '' });
    expect(planned.out).toContain(
      'SingletonPaymaster07(entryPoint: 0x0000000071727De22E5E9d8BAf0edAc6f37da032',
    );
    expect(planned.out).toContain('value 0.5, by anybody');
    expect(planned.out).toContain('addStake(unstakeDelaySec: 86400)');
    expect(await chain.nonce()).toBe(0);

    for (const [verb, ...amount] of [
      ['deploy'],
      ['deposit', '--up-to', '0.5'],
      ['stake', '--up-to', '0.1'],
    ] as const) {
      const before = await chain.nonce();
      const shown = await chain.run([verb, ...mine, ...amount]);
      expect(shown).toMatchObject({ status: 1, error: expect.stringContaining('nothing was sent: --yes') });
      expect(await chain.nonce()).toBe(before);
      const done = await chain.run([verb, ...mine, ...amount, ...sending]);
      expect(done).toMatchObject({ status: 0 });
      expect(await chain.nonce()).toBe(before + 1);
      const again = await chain.run([verb, ...mine, ...amount, ...sending]);
      expect(again).toMatchObject({ status: 0, error: 'nothing to send: it is there already\n' });
      expect(await chain.nonce()).toBe(before + 1);
    }

    const from = ['--from', chain.stranger.address];
    const found = await chain.run(['status', ...mine, ...from, '-o', 'json']);
    expect(found).toMatchObject({ status: 0, error: '' });
    const { address, contract, profiles } = JSON.parse(found.out);
    expect(contract).toMatchObject({
      isShipped: true,
      isOwned: true,
      isSignerAccepted: true,
      deposit: String(parseEther('0.5')),
      stake: String(parseEther('0.1')),
      unstakeDelaySeconds: 86_400,
    });
    expect(profiles[0].addresses.sponsorship).toBe(address);

    const account = await buildAccount(chain, '0.7');
    const { address: to } = chain.deployments.sponsoredContract;
    const op = await buildUserOp(account, [{ to, data: encodeWith(counter, 'increment', []) }]);
    const profile = {
      version: 'singleton-0.7',
      layout: 'singleton-0.7',
      entryPoint: entryPoint07.address,
      entryPointVersion: '0.7',
      sponsorship: parseAddress(address),
      options: {},
    } as const;
    const { event } = await handleOp(chain, '0.7', await sponsorUserOp(chain, profile, account, op));
    expect(event).toMatchObject({ success: true, paymaster: address.toLowerCase() });
    // Of another owner it is another contract, and nothing of it is there.
    const other = await chain.run(['status', ...which, '--owner', owner, ...from]);
    expect(other).toMatchObject({ status: 1 });
    expect(other.out).toContain('missing    paymaster contract deploy');
  });
});

describe('contracts that somebody else has deployed', () => {
  const chain = useStarted(() => startEmptyChain({ hasDeployer: true }), 300_000);

  test('a plan says for each layout what is missing, or what to write first', async () => {
    for (const id of layoutIds) {
      const which = [
        '--layout',
        id,
        '--chain',
        String(emptyChainId),
        '--signer',
        chain.sponsorSigner.address,
      ];
      const levels = ['--deposit', '1', '--stake', '1', '--sponsor', chain.stranger.address];
      const { out, status } = await chain.run([
        'plan',
        ...which,
        '--owner',
        chain.stranger.address,
        ...levels,
        '-o',
        'json',
      ]);
      expect(status).toBe(0);
      const { artifact, source, stake } = layouts[id].contract;
      const { steps, advice } = JSON.parse(out);
      expect(steps.map(({ verb }: { verb: string }) => verb)).toEqual(
        artifact === undefined ? [] : ['deploy', 'deposit', ...(stake === undefined ? [] : ['stake'])],
      );
      expect(advice.join()).toContain(source ?? '');
      expect(advice.join().includes('nobody has audited')).toBe(artifact?.isAudited === false);
    }
  });

  test('a contract on OpenZeppelin’s base is paid into, and its sponsored operation is mined', async () => {
    const profile = (await deployOpenZeppelin(chain, ['openzeppelin-0.8'])).get('openzeppelin-0.8');
    if (profile === undefined) throw new Error('it was not deployed');
    const where = [
      '--layout',
      'openzeppelin-0.8',
      '--chain',
      String(emptyChainId),
      '--address',
      profile.sponsorship,
    ];
    const args = [...where, '--owner', chain.stranger.address, '--signer', chain.sponsorSigner.address];
    const sending = ['--yes', '--key-file', chain.keyFile];
    expect(await chain.run(['deposit', ...args, '--up-to', '11', ...sending])).toMatchObject({ status: 0 });
    const { out, status } = await chain.run(['status', ...args, '-o', 'json']);
    expect({ status, deposit: JSON.parse(out).contract.deposit }).toEqual({
      status: 0,
      deposit: String(parseEther('11')),
    });
    for (const verb of ['withdraw', 'unstake'] as const) {
      const more = verb === 'withdraw' ? ['--leave', '0'] : [];
      const refused = await chain.run([verb, ...args, '--to', chain.stranger.address, ...more, ...sending]);
      expect(refused).toMatchObject({ status: 1, error: expect.stringContaining('no call in common') });
    }
    const account = await buildAccount(chain, '0.8');
    const op = await buildUserOp(account, [
      { to: chain.deployments.sponsoredContract.address, data: encodeWith(counter, 'increment', []) },
    ]);
    const { event } = await handleOp(chain, '0.8', await sponsorUserOp(chain, profile, account, op));
    expect(event).toMatchObject({ success: true, paymaster: profile.sponsorship.toLowerCase() });
  });
});
