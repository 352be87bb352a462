import { beforeEach, describe, expect, test } from '@jest/globals';
import { Wallet } from 'ethers';
import { verifyFunding } from '../../core/config/funding.js';
import { paymasterObjectName } from '../../core/resources/names.js';
import { parseAddress } from '../../core/units/address.js';
import {
  acmeToken,
  applyOrganisation,
  chainId,
  createPaymaster,
  recordOf,
  sponsorshipAddress,
} from '../build/dashboard.js';
import type { Answer } from '../build/dashboard.js';
import { useDashboard } from '../support/use-dashboard.js';
import { newWallet } from '../support/new-wallet.js';

// Service document, rule 4: obtain a message, sign it with the account that is to fund, send signature and address.
// "The signature is valid only for the latest generated message and only for the account that signed it."

const host = useDashboard();
let key: string;
let paymasterId: string;
let name: string;
let round = 0;
const wallet = new Wallet(`0x${'11'.repeat(32)}`);
beforeEach(async () => {
  round += 1;
  name = `Shop ${round}`;
  ({ key, paymasterId } = await createPaymaster(host, { name }));
});

async function obtain(): Promise<string> {
  const { status, body } = await host.call('GET', `/funding-message/${paymasterId}`, {
    token: acmeToken,
    key,
  });
  expect(status).toBe(200);
  return String(recordOf(body.data)['fundingMessage']);
}

function send(signature: string, address: string = wallet.address): Promise<Answer> {
  const body = { paymasterId, type: 'paymasterFundingId', signature, address };
  return host.call('PATCH', '/paymaster', { token: acmeToken, key, body });
}

async function stored() {
  const paymaster = await host.resources.get('Paymaster', {
    namespace: 'acme',
    name: paymasterObjectName(chainId, name),
  });
  return paymaster?.spec.funding;
}

async function outcome(answer: Promise<Answer>): Promise<string> {
  const { status, body } = await answer;
  return `${status} ${body.message}`;
}

const updated = '200 Paymaster updated successfully';
const invalid = '400 Invalid signature';

test('the message names chain id, paymaster contract, organisation and paymaster', async () => {
  const message = await obtain();
  for (const part of [String(chainId), sponsorshipAddress, 'acme', paymasterObjectName(chainId, name)])
    expect(message).toContain(part);
});

test('the stored proof proves the wallet to any reader of the resource', async () => {
  const message = await obtain();
  expect(await outcome(send(await wallet.signMessage(message)))).toBe(updated);
  const funding = await stored();
  expect(funding?.address).toBe(wallet.address);
  const verdict = verifyFunding({
    chainId,
    contract: parseAddress(sponsorshipAddress),
    namespace: 'acme',
    paymaster: paymasterObjectName(chainId, name),
    address: funding?.address ?? '',
    message: funding?.message ?? '',
    signature: funding?.signature ?? '',
  });
  expect(verdict).toEqual({ proven: true });
});

describe('a signature is valid', () => {
  test('with the address in any case', async () => {
    const signature = await wallet.signMessage(await obtain());
    expect(await outcome(send(signature, wallet.address.toLowerCase()))).toBe(updated);
    expect((await stored())?.address).toBe(wallet.address);
  });

  test('just before the message is 15 minutes old', async () => {
    const signature = await wallet.signMessage(await obtain());
    host.clock.advance(15 * 60_000 - 120_000);
    expect(await outcome(send(signature))).toBe(updated);
  });

  test('after failed attempts with the same message: only success uses it up', async () => {
    const signature = await wallet.signMessage(await obtain());
    expect(await outcome(send('0x1234'))).toBe(invalid);
    expect(await outcome(send(signature, newWallet().address))).toBe(invalid);
    expect(await outcome(send(signature))).toBe(updated);
  });

  test('for another wallet when a new message was obtained and signed by it', async () => {
    await send(await wallet.signMessage(await obtain()));
    const other = newWallet();
    expect(await outcome(send(await other.signMessage(await obtain()), other.address))).toBe(updated);
    expect((await stored())?.address).toBe(other.address);
  });
});

describe('a signature is invalid', () => {
  test('without any message having been obtained', async () => {
    expect(await outcome(send(await wallet.signMessage('anything')))).toBe(invalid);
  });

  test('when the message is older than 15 minutes', async () => {
    const signature = await wallet.signMessage(await obtain());
    host.clock.advance(15 * 60_000 + 1);
    expect(await outcome(send(signature))).toBe(invalid);
  });

  test('a second time', async () => {
    const signature = await wallet.signMessage(await obtain());
    expect(await outcome(send(signature))).toBe(updated);
    expect(await outcome(send(signature))).toBe(invalid);
  });

  test('a second time, also when the used message could not be removed', async () => {
    const stubborn = await host.beside({
      texts: {
        putText: (...args) => host.texts.putText(...args),
        addText: (...args) => host.texts.addText(...args),
        getText: (...args) => host.texts.getText(...args),
        getTexts: (...args) => host.texts.getTexts(...args),
        takeText: () => Promise.reject(new Error('the store went away')),
      },
    });
    const signature = await wallet.signMessage(await obtain());
    const body = { paymasterId, type: 'paymasterFundingId', signature, address: wallet.address };
    const once = await stubborn.call('PATCH', '/paymaster', { token: acmeToken, key, body });
    const twice = await stubborn.call('PATCH', '/paymaster', { token: acmeToken, key, body });
    await stubborn.stop();
    expect([once.status, twice.status]).toEqual([200, 400]);
    expect(twice.body.message).toBe('Invalid signature');
  });

  test('over the message of another paymaster of the same owner', async () => {
    const theirs = await wallet.signMessage(await obtain());
    ({ key, paymasterId } = await createPaymaster(host, { name: `Sibling ${round}` }));
    await obtain();
    expect(await outcome(send(theirs))).toBe(invalid);
  });

  test('and the wallet before it stays', async () => {
    await send(await wallet.signMessage(await obtain()));
    const other = newWallet();
    await obtain();
    expect(await outcome(send(await other.signMessage('another text'), other.address))).toBe(invalid);
    expect((await stored())?.address).toBe(wallet.address);
  });
});

test.each([
  { field: 'address', value: '0x12', problem: 'address must be an address' },
  { field: 'address', value: undefined, problem: 'address must be set' },
  { field: 'type', value: 'paymasterId', problem: 'type must be "paymasterFundingId"' },
  { field: 'signature', value: 7, problem: 'signature must be text' },
  { field: 'paymasterId', value: null, problem: 'paymasterId must be' },
])('a wrong $field is a 400 that names it', async ({ field, value, problem }) => {
  const body = { paymasterId, type: 'paymasterFundingId', signature: '0x', address: wallet.address };
  const answer = await host.call('PATCH', '/paymaster', {
    token: acmeToken,
    key,
    body: { ...body, [field]: value },
  });
  expect(answer.status).toBe(400);
  expect(answer.body.message).toContain(problem);
});

test('a message cannot be obtained when the platform has withdrawn the chain', async () => {
  const at = { name: 'dev' };
  const chain = await host.resources.get('Chain', at);
  if (!chain) throw new Error('the chain is gone');
  await host.resources.delete('Chain', at);
  try {
    const answer = await host.call('GET', `/funding-message/${paymasterId}`, { token: acmeToken, key });
    expect(answer.body).toMatchObject({ statusCode: 400, message: 'Chain ID not supported' });
  } finally {
    await host.resources.apply({ manager: 'platform', kind: 'Chain', key: at, spec: chain.spec });
  }
});

test('a wallet that the platform vouches for still signs here', async () => {
  const organisation = await host.resources.get('Organisation', { name: 'acme' });
  if (!organisation) throw new Error('acme is gone');
  const fundingAddresses = [wallet.address];
  await applyOrganisation(host.resources, 'acme', { ...organisation.spec, fundingAddresses });
  await obtain();
  expect(await outcome(send(`0x${'00'.repeat(65)}`))).toBe(invalid);
});
