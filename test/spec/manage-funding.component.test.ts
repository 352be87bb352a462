import { beforeEach, describe, expect, test } from '@jest/globals';
import { Wallet } from 'ethers';
import { verifyFunding } from '../../core/config/funding.js';
import { parseAddress } from '../../core/units/address.js';
import { managePrefix } from '../../server/dashboard/endpoints.js';
import { acmeToken, chainId, otherToken, recordOf, sponsorshipAddress } from '../build/dashboard.js';
import { useDashboard } from '../support/use-dashboard.js';
import { newWallet } from '../support/new-wallet.js';

// The funding wallet through the management API: the same challenge as that of the SDK's endpoints.

const host = useDashboard();
const wallet = new Wallet(`0x${'11'.repeat(32)}`);
let name: string;
let count = 0;
beforeEach(async () => {
  count += 1;
  name = `shop-${count}`;
  const spec = { name, chainId, type: 'HYBRID', version: '1.1.0' };
  expect(await ask('POST', '/paymasters', { name, spec })).toMatchObject({ status: 201 });
});

async function ask(
  method: string,
  path: string,
  body?: unknown,
  options: { token?: string; etag?: string } = {},
) {
  const { token = acmeToken, etag } = options;
  const response = await host.fetch(`${managePrefix}${path}`, {
    method,
    headers: { Authorization: `Bearer ${token}`, ...(etag !== undefined && { 'If-Match': etag }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const answer = recordOf(JSON.parse(await response.text()));
  const data = response.ok ? recordOf(answer['data']) : answer;
  return { status: response.status, etag: response.headers.get('etag') ?? '', data };
}

async function obtain(of = name): Promise<string> {
  const { status, data } = await ask('POST', `/paymasters/${of}/funding/message`);
  expect(status).toBe(200);
  expect(Date.parse(String(data['expiresAt']))).toBeGreaterThan(host.clock.now());
  return String(data['message']);
}

const send = (signature: string, address: string = wallet.address, options = {}) =>
  ask('PUT', `/paymasters/${name}/funding`, { address, signature }, options);

const isInvalid = { status: 400, data: { code: 'INVALID_SIGNATURE' } };
const stored = async () => (await host.resources.get('Paymaster', { namespace: 'acme', name }))?.spec.funding;

test('a wallet that signs the message funds the paymaster, and any reader can prove it', async () => {
  const message = await obtain();
  const answer = await send(await wallet.signMessage(message));
  expect(answer).toMatchObject({
    status: 200,
    data: { spec: { funding: { address: wallet.address, message } } },
  });
  expect(JSON.stringify(answer.data)).not.toContain('signature');
  expect(answer.etag).toBe((await ask('GET', `/paymasters/${name}`)).etag);
  const { address = '', message: kept = '', signature = '' } = (await stored()) ?? {};
  const contract = parseAddress(sponsorshipAddress);
  const claim = { chainId, contract, namespace: 'acme', paymaster: name, address, message: kept, signature };
  expect(verifyFunding(claim)).toEqual({ proven: true });
});

describe('a signature is refused', () => {
  test('without a message, for another wallet, a second time, and after 15 minutes', async () => {
    expect(await send(await wallet.signMessage('anything'))).toMatchObject(isInvalid);
    const signature = await wallet.signMessage(await obtain());
    expect(await send(signature, newWallet().address)).toMatchObject(isInvalid);
    expect(await send(signature)).toMatchObject({ status: 200 });
    expect(await send(signature)).toMatchObject(isInvalid);
    const late = await wallet.signMessage(await obtain());
    host.clock.advance(15 * 60_000 + 1);
    expect(await send(late)).toMatchObject(isInvalid);
  });

  test('over a message of another paymaster, or an earlier one', async () => {
    const first = await wallet.signMessage(await obtain());
    await obtain();
    expect(await send(first)).toMatchObject(isInvalid);
    const before = name;
    name = `sibling-${count}`;
    await ask('POST', '/paymasters', { name, spec: { name, chainId, type: 'HYBRID', version: '1.1.0' } });
    await obtain();
    expect(await send(await wallet.signMessage(await obtain(before)))).toMatchObject(isInvalid);
    expect(await stored()).toBeUndefined();
  });

  test('twice at once: one of two writes gets it', async () => {
    const signature = await wallet.signMessage(await obtain());
    const statuses = (await Promise.all([send(signature), send(signature)])).map(({ status }) => status);
    expect(statuses.toSorted((a, b) => a - b)).toEqual([200, 400]);
  });
});

test('the message of the SDK and that of this API are one: the latest counts', async () => {
  const { data: key } = await ask('GET', `/paymasters/${name}/key`);
  const { data } = await ask('GET', `/paymasters/${name}`);
  const ours = await wallet.signMessage(await obtain());
  const theirs = await host.call('GET', `/funding-message/${String(data['id'])}`, {
    token: acmeToken,
    key: String(key['key']),
  });
  expect(await send(ours)).toMatchObject(isInvalid);
  const { fundingMessage } = recordOf(theirs.body.data);
  expect(await send(await wallet.signMessage(String(fundingMessage)))).toMatchObject({ status: 200 });
});

describe('nothing is changed', () => {
  test('by another organisation, and by tokens that only read, stop or count', async () => {
    const scopes = ['read', 'stop', 'finance'];
    const { data } = await ask('POST', '/tokens', { name: `narrow-${count}`, scopes });
    const signature = await wallet.signMessage(await obtain());
    for (const [token, status] of [
      [otherToken, 404],
      [String(data['token']), 403],
    ] as const) {
      expect(await send(signature, wallet.address, { token })).toMatchObject({ status });
      const asked = await ask('POST', `/paymasters/${name}/funding/message`, undefined, { token });
      expect(asked).toMatchObject({ status });
    }
    // Their attempts have not replaced the message either.
    expect(await send(signature)).toMatchObject({ status: 200 });
  });

  test('with an If-Match of before, a member that is not known, or a chain that is not offered', async () => {
    const { etag } = await ask('GET', `/paymasters/${name}`);
    await ask('PATCH', `/paymasters/${name}`, { spec: { suspended: true } });
    const signature = await wallet.signMessage(await obtain());
    expect(await send(signature, wallet.address, { etag })).toMatchObject({ status: 412 });
    const body = { address: wallet.address, signature, message: 'mine' };
    expect(await ask('PUT', `/paymasters/${name}/funding`, body)).toMatchObject({ status: 400 });
    const spec = { name: `far-${count}`, chainId: 77, type: 'HYBRID', version: '1.1.0' } as const;
    const key = { namespace: 'acme', name: `far-${count}` };
    await host.resources.apply({ manager: 'argocd', kind: 'Paymaster', key, spec });
    const answer = await ask('POST', `/paymasters/far-${count}/funding/message`);
    expect(answer).toMatchObject({ status: 400, data: { code: 'CHAIN_NOT_SUPPORTED' } });
  });

  test('where a manifest owns the wallet: the answer has the YAML to commit', async () => {
    const key = { namespace: 'acme', name };
    const other = newWallet().address;
    const owned = { funding: { address: other } };
    await host.resources.apply({ manager: 'argocd', kind: 'Paymaster', key, spec: owned, force: true });
    const answer = await send(await wallet.signMessage(await obtain()));
    expect(answer).toMatchObject({ status: 409, data: { code: 'FIELD_OWNED' } });
    expect(String(answer.data['manifest'])).toContain(wallet.address);
    expect((await stored())?.address).toBe(other);
  });
});
