import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts';
import { foundry } from 'viem/chains';
import { manifestsWith, startBundledService } from './processes.mjs';
import { increment, mint, newPaymaster, openChain } from './wallets.mjs';

// AbstractionKit as its documentation shows it, with its own paymaster client, and one URL for all. Of its accounts those that need no
// contracts of their own on the chain: EIP-7702 accounts on EntryPoint 0.8 and 0.9. Its delegate for 0.9 has no published code, so one
// from `make run` takes its place.

const delegate09 = '0x09870c7c1F3F14094D9F33A83A45B22CFBb519b0';
const fees = { maxFeePerGas: 3_000_000_000n, maxPriorityFeePerGas: 1_000_000_000n };
const plenty = 10n ** 12n;
const icon = 'data:image/png;base64,iVBORw0KGgo=';
const named = 'singleton-0.8';

/** Tests of the kit that a folder has installed. */
export function abstractionKitTests({
  CandidePaymaster,
  Simple7702Account,
  Simple7702AccountV09,
  createAndSignEip7702DelegationAuthorization,
}) {
  const accounts = {
    0.8: (address) => new Simple7702Account(address),
    0.9: (address) => new Simple7702AccountV09(address, { delegateeAddress: delegate09 }),
  };
  let manifests;
  let running;
  let facts;
  let client;
  let versions;
  before(async () => {
    manifests = manifestsWith([`version: ${named}`, `sponsor: { name: Shop, icon: "${icon}" }`]);
    running = await startBundledService({ PAYMASTER_MANIFESTS: manifests });
    facts = running.facts;
    versions = facts.versions.filter(({ entryPointVersion }) => entryPointVersion in accounts);
    client = openChain(facts);
  });
  after(async () => {
    await running?.stop();
    rmSync(manifests, { recursive: true, force: true });
  });

  test('createSponsorPaymasterUserOperation, with the authorization of the first operation', async (t) => {
    for (const profile of versions)
      await t.test(nameOf(profile), async () => {
        const wallet = await open(profile);
        const draft = await wallet.draft([increment(facts)]);
        const [op] = await wallet.paymaster.createSponsorPaymasterUserOperation(
          wallet.account,
          draft,
          wallet.rpcUrl,
        );
        await wallet.send(op);
      });
  });

  test('createSponsorPaymasterUserOperation answers the sponsor that the Paymaster names', async () => {
    const wallet = await open(
      versions.find(({ version }) => version === named),
      facts.rpcUrl,
    );
    const draft = await wallet.draft([increment(facts)]);
    const [op, sponsor] = await wallet.paymaster.createSponsorPaymasterUserOperation(
      wallet.account,
      draft,
      wallet.rpcUrl,
    );
    assert.deepEqual(sponsor, { name: 'Shop', description: '', url: '', icons: [icon] });
    await wallet.send(op);
  });

  test('createTokenPaymasterUserOperation, which puts the approval in front', async (t) => {
    for (const profile of versions.filter(({ tokenPaymasterAddress }) => tokenPaymasterAddress))
      await t.test(nameOf(profile), async () => {
        const wallet = await open(profile);
        await mint(client, facts, wallet.account.accountAddress, plenty);
        const draft = await wallet.draft([increment(facts)]);
        const op = await wallet.paymaster.createTokenPaymasterUserOperation(
          wallet.account,
          draft,
          facts.feeToken.address,
          wallet.rpcUrl,
        );
        await wallet.send(op);
      });
  });

  function nameOf({ version, entryPointVersion }) {
    return `version ${version}, EntryPoint ${entryPointVersion}`;
  }

  async function open({ version, entryPointVersion }, given) {
    const rpcUrl = given ?? (await newPaymaster(facts, version));
    const key = generatePrivateKey();
    const chainId = BigInt(foundry.id);
    const account = accounts[entryPointVersion](privateKeyToAddress(key));
    return {
      account,
      rpcUrl,
      paymaster: new CandidePaymaster(rpcUrl),

      async draft(calls) {
        const transactions = calls.map(({ to, data }) => ({ to, value: 0n, data }));
        const draft = await account.createUserOperation(transactions, facts.chainRpcUrl, rpcUrl, {
          eip7702Auth: { chainId },
          ...fees,
        });
        const { address, nonce } = draft.eip7702Auth;
        draft.eip7702Auth = createAndSignEip7702DelegationAuthorization(chainId, address, BigInt(nonce), key);
        return draft;
      },

      async send(op) {
        op.signature = account.signUserOperation(op, key, chainId);
        const response = await account.sendUserOperation(op, rpcUrl);
        assert.equal((await response.included(60, 1)).success, true);
      },
    };
  }
}
