import { createServer } from 'node:http';
import { readFileSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Interface, parseEther } from 'ethers';
import type { ProblemRecord } from '../../core/problems/render.js';
import type { Condition } from '../../core/meta/meta.js';
import { parseAddress } from '../../core/units/address.js';
import { devAccounts } from '../../standalone/dev-chain/dev-accounts.js';
import { encodeWith } from '../chain/support/account.js';
import type { DevChain } from '../chain/support/dev-chain.js';
import { sendAs } from '../chain/support/send-as.js';
import { until } from '../support/until.js';
import { freshUserOp, rpc } from './support/client.js';
import { attachDevChain } from './support/dev-chain.js';
import { aLimit, aPaymaster, aPolicy, useDoctor } from './support/doctor.js';

// What states say while requests are refused: `make run` on a real chain. Each state is compared with what a request is answered.

const doctor = useDoctor();
const { apply, applyLimited, ask, urlOf } = doctor;
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
  await new Promise<void>((resolve) => host.listen(0, '127.0.0.1', resolve));
  applyTroubled('1000');
  const url = await urlOf('troubled');
  // It counts as failing after a minute, in which the other tests run.
  await until('the host refuses', async () => (await ask(url)).reason?.startsWith('WEBHOOK') === true);
}, 300_000);
afterAll(async () => {
  host.close();
  await devChain.stop();
});

let isAnswering = false;
const host = createServer((_request, response) => {
  if (!isAnswering) return void response.destroy();
  response.end(JSON.stringify({ arePoliciesVerified: true }));
});

/** A paymaster with a limit of so many operations, and a webhook. */
function applyTroubled(threshold: string): void {
  const { port } = host.address() as AddressInfo;
  const spendingLimit = { scope: 'PAYMASTER', never: {}, threshold, thresholdType: 'COUNT' };
  const webhook = { url: `http://127.0.0.1:${port}/check` };
  apply(
    aPaymaster('troubled'),
    aLimit('tiny', 'troubled', { spendingLimit }),
    aPolicy('unheard', 'troubled', { policyType: 'WEBHOOK', webhook }),
  );
}

async function condition(
  kind: 'paymasters' | 'policies',
  name: string,
  type: string,
): Promise<Condition | undefined> {
  const { dashboardUrl, authToken } = doctor.connection;
  const answer = await fetch(`${dashboardUrl}/manage/v1/${kind}/${name}`, { headers: { authToken } });
  const { data } = (await answer.json()) as {
    readonly data?: { readonly status?: { readonly conditions?: readonly Condition[] } };
  };
  return data?.status?.conditions?.find((each) => each.type === type);
}

async function becomes(name: string, type: 'Serving' | 'Funded', want: string): Promise<string> {
  let last: Condition | undefined;
  await until(
    () => `${type} of ${name} is ${want}, not ${last?.status}/${last?.reason}: ${last?.message}`,
    async () => {
      last = await condition('paymasters', name, type);
      return `${last?.status}/${last?.reason}` === want;
    },
  );
  return last?.message ?? '';
}

/** The severest first, as `paymaster doctor` lists them. */
async function problemsOf(...names: readonly string[]): Promise<readonly ProblemRecord[]> {
  const { out } = await doctor.asOrganisation();
  const { problems } = JSON.parse(out) as { readonly problems: readonly ProblemRecord[] };
  return problems.filter(({ name, check }) => names.includes(name) && check !== 'open-sponsorship');
}

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
  // One large operation turns nothing: it is refused while the wallet has money for ordinary ones.
  await becomes('promising', 'Serving', 'True/Serving');
  const large = {
    ...freshUserOp(doctor.connection),
    maxFeePerGas: `0x${parseEther('0.00001').toString(16)}`,
  };
  expect((await rpc(url, 'pm_sponsorUserOperation', [large, mode])).reason).toBeDefined();
});

test('a full limit and a webhook that does not answer are shown together, each at its own policy, and each is gone when it is fixed', async () => {
  const url = await urlOf('troubled');
  applyTroubled('0');
  await until('the limit refuses', async () => (await ask(url)).reason === 'LIMIT_REACHED');
  const saidOfIt = async () => (await condition('paymasters', 'troubled', 'Serving'))?.message ?? '';
  expect(await becomes('troubled', 'Serving', 'False/WebhookFailing')).toContain(
    'No answer from the host of "unheard"',
  );
  await until('both are said', async () => (await saidOfIt()).includes('Full: "tiny"'));
  expect(await problemsOf('tiny', 'unheard', 'troubled')).toMatchObject([
    { check: 'webhook-failing', noun: 'policies', name: 'unheard' },
    { check: 'limit-full', noun: 'policies', name: 'tiny' },
  ]);
  expect((await condition('policies', 'unheard', 'HostFailing'))?.lastTransitionTime).toBeDefined();

  applyTroubled('1000');
  await until('the limit is gone', async () => !(await saidOfIt()).includes('Full:'));
  expect(await condition('policies', 'tiny', 'Exhausted')).toBeUndefined();
  isAnswering = true;
  let last: string | undefined;
  await until(
    () => `it is asked again, and answers, not ${last}`,
    async () => (last = (await ask(url)).reason) === undefined,
  );
  await becomes('troubled', 'Serving', 'True/Serving');
  expect(await problemsOf('tiny', 'unheard', 'troubled')).toEqual([]);
});
