import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createPimlicoClient } from 'permissionless/clients/pimlico';
import { encodeFunctionData, erc20Abi, http } from 'viem';
import { createBundlerClient, createPaymasterClient } from 'viem/account-abstraction';
import { foundry } from 'viem/chains';
import { startBundledService } from './processes.mjs';
import { emptyOfTokens, increment, mint, newAccount, newPaymaster, openChain } from './wallets.mjs';

// viem and permissionless with the bundler alto behind the paymaster's address, as all of them are published: accounts are created, operations sponsored and
// paid in tokens with the approval in the same operation, on three EntryPoints.

const plenty = 10n ** 12n;
/** Of the token contracts of `make run`. */
const treasury = '0x90F79bf6EB2c4f870365E785982E1f101E93b906';
let running;
let facts;
let client;
before(async () => {
  running = await startBundledService();
  facts = running.facts;
  client = openChain(facts);
});
after(() => running?.stop());

test('one URL with alto behind it: examples/client, from nothing to both modes', () => {
  const folder = mkdtempSync(join(tmpdir(), 'one-url-'));
  const file = join(folder, 'connection.json');
  writeFileSync(file, JSON.stringify(facts));
  const script = fileURLToPath(new URL('../../examples/client/main.mjs', import.meta.url));
  const { stdout, stderr } = spawnSync(process.execPath, [script, file], {
    encoding: 'utf8',
    timeout: 120_000,
  });
  rmSync(folder, { recursive: true });
  assert.match(stdout, /^bundler   behind the same address$/m, stderr);
  assert.match(stdout, /^sponsored success true/m, stderr);
  assert.match(stdout, /^paid      success true/m, stderr);
});

for (const version of ['1.1.0', '2.0.0', 'singleton-0.6', 'singleton-0.7', 'singleton-0.8'])
  describe(`one URL with alto behind it, version ${version}`, () => {
    let rpcUrl;
    let profile;
    before(async () => {
      rpcUrl = await newPaymaster(facts, version);
      profile = facts.versions.find((candidate) => candidate.version === version);
    });

    async function open(options) {
      const account = await newAccount(client, profile);
      const settings = {
        account,
        client,
        chain: foundry,
        // One URL for paymaster and bundler.
        transport: http(rpcUrl),
        pollingInterval: 100,
      };
      return createBundlerClient({ ...settings, ...options });
    }

    async function send(wallet, calls) {
      const hash = await wallet.sendUserOperation({ calls });
      return wallet.waitForUserOperationReceipt({ hash, timeout: 20_000 });
    }

    test('sponsored operations, the account created in the first one', async () => {
      const wallet = await open({ paymaster: createPaymasterClient({ transport: http(rpcUrl) }) });
      // On one version so many that fees which rise with every operation would be above their cap.
      const rounds = version === 'singleton-0.8' ? 30 : 2;
      for (let round = 0; round < rounds; round += 1)
        assert.equal((await send(wallet, [increment(facts)])).success, true);
    });

    test('an operation that approves and pays in tokens', async () => {
      const token = facts.feeToken.address;
      const wallet = await open({
        paymaster: createPaymasterClient({ transport: http(rpcUrl) }),
        paymasterContext: { token },
      });
      await mint(client, facts, wallet.account.address, plenty);
      // The first transfer to a treasury costs more than later ones.
      await emptyOfTokens(client, facts, treasury);
      const args = [profile.tokenPaymasterAddress, plenty];
      const approve = {
        to: token,
        data: encodeFunctionData({ abi: erc20Abi, functionName: 'approve', args }),
      };
      assert.equal((await send(wallet, [approve, increment(facts)])).success, true);
      const address = wallet.account.address;
      const call = { address: token, abi: erc20Abi, functionName: 'balanceOf', args: [address] };
      const afterFirst = await client.readContract(call);
      assert.ok(afterFirst < plenty);
      // Now a contract that takes tokens in validation may take them before the call.
      if (!profile.layout.startsWith('vendor-')) return;
      assert.equal((await send(wallet, [increment(facts)])).success, true);
      assert.ok((await client.readContract(call)) < afterFirst);
    });

    test("permissionless' sponsorUserOperation", async () => {
      const entryPoint = { address: profile.entryPoint, version: profile.entryPointVersion };
      const sponsor = createPimlicoClient({ transport: http(rpcUrl), entryPoint });
      const wallet = await open({
        paymaster: {
          getPaymasterData: ({
            chainId: _chain,
            entryPointAddress: _entryPoint,
            context: _context,
            ...userOperation
          }) => sponsor.sponsorUserOperation({ userOperation }),
        },
      });
      assert.equal((await send(wallet, [increment(facts)])).success, true);
    });
  });
