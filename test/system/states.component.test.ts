import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Interface, parseEther } from 'ethers';
import { parseAddress } from '../../core/units/address.js';
import { devAccounts } from '../../standalone/dev-chain/dev-accounts.js';
import { encodeWith } from '../chain/support/account.js';
import type { DevChain } from '../chain/support/dev-chain.js';
import { sendAs } from '../chain/support/send-as.js';
import { until } from '../support/until.js';
import { freshUserOp, rpc } from './support/client.js';
import { attachDevChain } from './support/dev-chain.js';
import { useDoctor } from './support/doctor.js';
import { useStates } from './support/states.js';

// What states of deposits say while requests are refused: `make run` on a real chain. Each state is compared with what a request is answered.

const doctor = useDoctor();
const { applyLimited, ask, urlOf } = doctor;
const { condition, becomes, problemsOf } = useStates(doctor);
const abi = new Interface([
  'function balanceOf(address account) view returns (uint256)',
  'function withdrawTo(address to, uint256 amount)',
  'function depositTo(address account) payable',
  'function depositFor(address wallet) payable',
]);
/** In its contract it has less than a few operations cost. */
const wallet = parseAddress('0x00000000000000000000000000000000000000f7');

let devChain: DevChain;
beforeAll(async () => {
  const organisation = join(doctor.manifests, 'organisation.yaml');
  writeFileSync(
    organisation,
    readFileSync(organisation, 'utf8').replace(
      '  namespace: quickstart',
      `  namespace: quickstart\n  fundingAddresses: ['${wallet}']`,
    ),
  );
  devChain = attachDevChain(doctor.connection.chainRpcUrl, doctor.connection.chainId);
});
afterAll(() => devChain.stop());

describe('a contract whose EntryPoint deposit is drained', () => {
  const versions = [
    '1.1.0',
    '2.0.0',
    'singleton-0.6',
    'singleton-0.7',
    'singleton-0.8',
    'verifying-0.7',
    'verifying-0.9',
    'hybrid-0.9',
  ];
  const nameOf = (version: string): string => `drained-${version.replaceAll('.', '-')}`;

  test('says so on each of its paymasters, also where a wallet inside it is full, until there is a deposit again', async () => {
    for (const version of versions) applyLimited(nameOf(version), { version });
    await Promise.all(versions.map((version) => becomes(nameOf(version), 'Serving', 'True/Serving')));
    const drained = versions.map((version) => devChain.profile(version));
    const held = new Map<string, bigint>();
    for (const { sponsorship, entryPoint } of drained) {
      if (held.has(sponsorship)) continue;
      const balance = BigInt(
        await devChain.chain.call({ to: entryPoint, data: encodeWith(abi, 'balanceOf', [sponsorship]) }),
      );
      held.set(sponsorship, balance);
      const data = encodeWith(abi, 'withdrawTo', [devAccounts.deployer.address, balance]);
      await sendAs(devChain, sponsorship, { to: entryPoint, data });
    }

    // Until the operator looks at deposits again.
    await doctor.pass(20);
    for (const version of versions) {
      const { sponsorship } = devChain.profile(version);
      const funded = await becomes(nameOf(version), 'Funded', 'False/Empty');
      expect(funded).toContain(`The deposit of contract ${sponsorship} in EntryPoint`);
      expect(await becomes(nameOf(version), 'Serving', 'False/DepositEmpty')).toContain(sponsorship);
      if (version === '1.1.0')
        expect((await ask(await urlOf(nameOf(version)))).reason).toBe('DEPOSIT_TOO_LOW');
    }

    for (const { sponsorship, entryPoint } of drained) {
      const value = held.get(sponsorship) ?? 0n;
      if (!held.delete(sponsorship)) continue;
      await devChain.transactor.send('a deposit', {
        to: entryPoint,
        data: encodeWith(abi, 'depositTo', [sponsorship]),
        value,
      });
    }
    await Promise.all(versions.map((version) => becomes(nameOf(version), 'Serving', 'True/Serving')));
    expect((await ask(await urlOf(nameOf('1.1.0')))).reason).toBeUndefined();
  });
});

test('a wallet that holds only what is promised says so, until promises have expired', async () => {
  const { sponsorship } = devChain.profile('1.1.0');
  await devChain.transactor.send('a small deposit', {
    to: sponsorship,
    data: encodeWith(abi, 'depositFor', [wallet]),
    value: parseEther('0.002'),
  });
  applyLimited('promising', { funding: { address: wallet } });
  await becomes('promising', 'Serving', 'True/Serving');
  const url = await urlOf('promising');
  const mode = { mode: 'SPONSORED', calculateGasLimits: false, expiryDuration: 30 };
  // Smaller than an ordinary one, so that not even one of those is left when it is refused.
  const aSmallOne = () => ({
    ...freshUserOp(doctor.connection),
    callGasLimit: '50000',
    verificationGasLimit: '80000',
    preVerificationGas: '40000',
    maxFeePerGas: '0x4190ab00',
  });
  await until('nothing more is promised', async () => {
    const { reason } = await rpc(url, 'pm_sponsorUserOperation', [aSmallOne(), mode]);
    return reason === 'DEPOSIT_TOO_LOW';
  });
  // Asked again and again, so that it stays promised until it is seen.
  await until('it is said', async () => {
    await rpc(url, 'pm_sponsorUserOperation', [aSmallOne(), mode]);
    return (await condition('paymasters', 'promising', 'Funded'))?.reason === 'Promised';
  });
  const said = await becomes('promising', 'Funded', 'False/Promised');
  expect(said).toContain(`What is not promised of the deposit of ${wallet} in contract ${sponsorship}`);
  expect(await becomes('promising', 'Serving', 'False/DepositEmpty')).toBe(said);
  expect(await problemsOf('promising')).toMatchObject([{ check: 'deposit-promised', severity: 'critical' }]);
  await doctor.pass(60);
  // One large operation turns nothing: it is refused while the wallet has money for ordinary ones.
  await becomes('promising', 'Serving', 'True/Serving');
  const large = {
    ...freshUserOp(doctor.connection),
    maxFeePerGas: `0x${parseEther('0.00001').toString(16)}`,
  };
  expect((await rpc(url, 'pm_sponsorUserOperation', [large, mode])).reason).toBeDefined();
});
