import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { bytesToHex, numberToHex } from 'viem';
import { ordinaryDataFee } from '../../dist/core/chain/data-fee/data-gas.js';
import { opStackPrice } from '../../dist/core/chain/data-fee/op-stack/op-stack.js';
import { formatDecimal } from '../../dist/core/units/wei.js';
import { installOpStack, quietLayer1 } from '../../dist/test/chain/support/op-stack.js';
import { startWithAlto } from './processes.mjs';
import { newAccount, newOpenPaymaster, openChain } from './wallets.mjs';

// Our preVerificationGas beside alto's own for the same operations, on a dev chain with the real predeploys of the OP stack. Below
// alto's a bundler refuses the operation; far above it the sponsor pays for nothing.

const quickstart = fileURLToPath(new URL('../../examples/quickstart', import.meta.url));
/** Bytes of data in the operation's call. */
const sizes = [0, 200, 1_000, 4_000];
const operationsPerSize = 25;
const mostRatio = 1.15;
/** Any account; it has no code. */
const recipient = '0x00000000000000000000000000000000000000aa';

let running;
let facts;
let client;
let opStack;
let manifests;
before(async () => {
  manifests = mkdtempSync(join(tmpdir(), 'paymaster-op-stack-'));
  cpSync(quickstart, manifests, { recursive: true });
  const file = join(manifests, 'chain.yaml');
  const chain = readFileSync(file, 'utf8');
  writeFileSync(file, chain.replace('\nspec:\n', '\nspec:\n  dataFee: { kind: OpStack, maxFee: "1" }\n'));
  running = await startWithAlto(undefined, {
    environment: { PAYMASTER_MANIFESTS: manifests },
    options: { 'chain-type': 'op-stack' },
    prepare: async ({ chainRpcUrl }) => {
      opStack = await installOpStack(chainRpcUrl);
    },
  });
  facts = running.facts;
  client = openChain(facts);
});
after(async () => {
  await running?.stop();
  if (manifests !== undefined) rmSync(manifests, { recursive: true, force: true });
});

for (const version of ['1.1.0', '2.0.0', 'singleton-0.6', 'singleton-0.8', 'verifying-0.9', 'hybrid-0.9'])
  // In a busy hour most of preVerificationGas is the data fee.
  for (const [name, times] of [
    ['quiet', 1n],
    ['busy', 1_000n],
  ])
    describe(`alto on the OP stack, version ${version}, layer 1 is ${name}`, () => {
      test(`our figure is 1 to ${mostRatio} times alto's for 100 operations`, async (context) => {
        const profile = facts.versions.find((candidate) => candidate.version === version);
        const rpcUrl = await newOpenPaymaster(facts, version);
        await setLayer1(rpcUrl, times);
        const ratios = [];
        for (const size of sizes)
          for (let index = 0; index < operationsPerSize; index += 1) {
            const op = await draftOf(profile, { to: recipient, data: someData(size, index) });
            const [ours, altos] = [await ourFigure(rpcUrl, op), await altosFigure(rpcUrl, op, profile)];
            ratios.push({ size, index, ours, altos, ratio: ours / altos });
          }
        const all = ratios.map(({ ratio }) => ratio);
        context.diagnostic(`from ${Math.min(...all).toFixed(3)} to ${Math.max(...all).toFixed(3)}`);
        assert.equal(ratios.length, 100);
        assert.deepEqual(
          ratios.filter(({ ratio }) => ratio < 1 || ratio > mostRatio),
          [],
        );
      });
    });

/** Sets what layer 1 costs, and waits until the service shows it. */
async function setLayer1(rpcUrl, times) {
  const { l1BaseFee, blobBaseFee } = quietLayer1;
  const prices = { ...quietLayer1, l1BaseFee: times * l1BaseFee, blobBaseFee: times * blobBaseFee };
  await opStack.setPrices(prices);
  const wanted = formatDecimal(ordinaryDataFee({ kind: 'OpStack' }, opStackPrice(prices)), 18);
  const explained = [{ ...emptyOperation, sender: recipient }, { mode: 'SPONSORED' }];
  const deadline = Date.now() + 60_000;
  for (;;) {
    const { dataFee } = await call(rpcUrl, 'pm_explainSponsorship', explained, {
      authToken: facts.authToken,
    });
    if (dataFee?.ordinaryOperation === wanted) return;
    assert.ok(Date.now() < deadline, `the data fee is ${JSON.stringify(dataFee)}, not ${wanted}`);
    await sleep(200);
  }
}

const noLimits = { callGasLimit: '0x0', verificationGasLimit: '0x0', preVerificationGas: '0x0' };
const emptyOperation = {
  ...noLimits,
  nonce: '0x0',
  initCode: '0x',
  callData: '0x',
  maxFeePerGas: '0x1',
  maxPriorityFeePerGas: '0x1',
};

/** Every other operation has bytes that do not compress; the others have words as an ABI pads them. */
function someData(size, index) {
  const noise = createHash('shake256', { outputLength: size || 1 })
    .update(`${size} ${index}`)
    .digest();
  const padded = noise.map((byte, at) => (at % 32 < 20 ? 0 : byte));
  return bytesToHex((index % 2 === 0 ? noise : padded).subarray(0, size));
}

/** An operation of an account that it creates, at the price that alto computes with. */
async function draftOf(profile, target) {
  const account = await newAccount(client, profile);
  const { factory, factoryData } = await account.getFactoryArgs();
  const { slow } = await call(running.bundlerUrl, 'pimlico_getUserOperationGasPrice', []);
  const creation =
    profile.entryPointVersion === '0.6'
      ? { initCode: `${factory}${factoryData.slice(2)}`, paymasterAndData: '0x' }
      : { factory, factoryData };
  return {
    ...noLimits,
    ...creation,
    ...slow,
    sender: account.address,
    nonce: '0x0',
    callData: await account.encodeCalls([target]),
    signature: await account.getStubSignature(),
  };
}

async function ourFigure(rpcUrl, op) {
  const context = { mode: 'SPONSORED', calculateGasLimits: true };
  const { preVerificationGas } = await call(rpcUrl, 'pm_sponsorUserOperation', [op, context]);
  return Number(preVerificationGas);
}

async function altosFigure(rpcUrl, op, { entryPoint }) {
  const stubbed = [op, entryPoint, numberToHex(facts.chainId), {}];
  const {
    sponsor: _sponsor,
    isFinal: _isFinal,
    ...data
  } = await call(rpcUrl, 'pm_getPaymasterStubData', stubbed);
  const estimated = [{ ...op, ...data }, entryPoint];
  const { preVerificationGas } = await call(running.bundlerUrl, 'eth_estimateUserOperationGas', estimated);
  return Number(preVerificationGas);
}

async function call(url, method, params, headers = {}) {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  });
  const { result, error } = await response.json();
  assert.equal(error, undefined, `${method}: ${JSON.stringify(error)}`);
  return result;
}
