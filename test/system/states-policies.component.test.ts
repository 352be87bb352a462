import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { until } from '../support/until.js';
import { aLimit, aPaymaster, aPolicy, useDoctor } from './support/doctor.js';
import { useStates } from './support/states.js';

// What states of policies say while requests are refused: `make run` on a real chain.

const doctor = useDoctor();
const { apply, ask, urlOf } = doctor;
const { condition, becomes, problemsOf } = useStates(doctor);

beforeAll(async () => {
  await new Promise<void>((resolve) => host.listen(0, '127.0.0.1', resolve));
});
afterAll(() => void host.close());

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

test('a full limit and a webhook that does not answer are shown together, each at its own policy, and each is gone when it is fixed', async () => {
  applyTroubled('1000');
  const url = await urlOf('troubled');
  await until('the host refuses', async () => (await ask(url)).reason?.startsWith('WEBHOOK') === true);
  applyTroubled('0');
  await until('the limit refuses', async () => (await ask(url)).reason === 'LIMIT_REACHED');
  // It counts as failing when it has not answered for a minute.
  await doctor.pass(60);
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
