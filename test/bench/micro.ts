import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Interface } from 'ethers';
import { parseAllDocuments } from 'yaml';
import { createPrices } from '../../adapters/price/prices.js';
import type { CallRequest } from '../../core/chain/chain.js';
import { silentLogger } from '../../core/log.js';
import { noMetrics } from '../../core/metrics.js';
import { renderFeeQuote } from '../../core/pricing/fee-quote.js';
import { parseMarkup } from '../../core/pricing/rate.js';
import { requirePrice } from '../../core/pricing/price-source.js';
import { chooseTokens } from '../../core/pricing/token-list.js';
import type { FeeTokenSpec } from '../../core/pricing/fee-token-spec.js';
import type { EpochMs, EpochSeconds } from '../../core/units/time.js';
import { repositoryRoot } from '../support/repository-root.js';
import { FakeChain } from '../fakes/chain.js';
import { createLocalSigner } from '../../adapters/signer/file/local-signer.js';
import { personalItem, signingItem } from '../../core/paymaster/signer.js';
import { entryPoints } from '../../core/entry-point/address.js';
import { entryPointVersions } from '../../core/entry-point/version.js';
import { layoutIds } from '../../core/paymaster/layout.js';
import { layouts } from '../../core/paymaster/layouts.js';
import { userOpHasher } from '../../core/entry-point/user-op-hash.js';
import { stubSignature } from '../../core/paymaster/signature.js';
import { allSteps } from '../../core/policy/steps-left.js';
import { compileExpression } from '../../core/policy/expression/expression.js';
import { parseMethods } from '../../core/policy/methods/methods.js';
import { compileAllowList } from '../../core/policy/rules/allow-list/compile.js';
import { decideCalls } from '../../core/policy/rules/allow-list/decide.js';
import { parseAddress, toAddressKey } from '../../core/units/address.js';
import { decodedHex, type Hex } from '../../core/units/hex.js';
import { decodeCalls } from '../build/decoded.js';
import { parseUserOperation } from '../../core/userop/parse.js';
import type { FinalUserOperation } from '../../core/entry-point/user-operation.js';
import { loadNativeCurve, loadWasmCurve } from '../../adapters/signer/curve.js';

// CPU microseconds per call of each step of the sponsor path: medians of 7 rounds. Prints a table.
// Run with `node dist/test/bench/micro.js`.

const account = new Interface([
  'function execute(address,uint256,bytes)',
  'function executeBatch(address[],uint256[],bytes[])',
]);
const target = '0x2222222222222222222222222222222222222222';
const methodData = `0xa9059cbb${'00'.repeat(12)}${'33'.repeat(20)}${'00'.repeat(31)}05`;

function executeOf(index: number): Hex {
  return account
    .encodeFunctionData('execute', [target, index, `${methodData}${'ab'.repeat(416)}`])
    .toLowerCase() as Hex;
}

function batchOf(size: number, index: number): Hex {
  const all = <T>(value: T) => Array.from({ length: size }, () => value);
  return account
    .encodeFunctionData('executeBatch', [all(target), all(index), all(methodData)])
    .toLowerCase() as Hex;
}

// Different inputs each time, so that no cache of the engine supplies the result.
const variants = Array.from({ length: 256 }, (_, index) => index);
const singles = variants.map(executeOf);
const batches = variants.map((index) => batchOf(16, index));
const wires = variants.map((index) =>
  JSON.stringify({
    sender: `0x${randomBytes(20).toString('hex')}`,
    nonce: `0x${index.toString(16)}`,
    initCode: '0x',
    callData: singles[index],
    callGasLimit: '0x1e241',
    verificationGasLimit: '234567',
    preVerificationGas: '56789',
    maxFeePerGas: '0xb2d05e07',
    maxPriorityFeePerGas: '0x3b9aca03',
    signature: `0x${randomBytes(65).toString('hex')}`,
    paymasterAndData: '0x',
  }),
);
const bodies: readonly unknown[] = wires.map((text) => JSON.parse(text));
const operations: readonly FinalUserOperation[] = bodies.map((body) => {
  const op = parseUserOperation(body, '0.6');
  return {
    ...op,
    callGasLimit: op.callGasLimit ?? 0n,
    verificationGasLimit: op.verificationGasLimit ?? 0n,
    preVerificationGas: op.preVerificationGas ?? 0n,
  };
});
const terms = {
  chainId: 31337,
  paymaster: parseAddress('0x3284b8394ac082e4212af752b3fda80777076c05'),
  fundingAddress: toAddressKey('0x95857bffc1cd833cd196af29eb0f61dbc66db4ad'),
  validUntil: 1_893_456_000,
  validAfter: 1_700_000_000,
  options: { priceMarkup: 1_000_000, unaccountedGas: 50_000 },
};
const allowList = compileAllowList({
  defaultContractAction: 'Deny',
  contractsRegistered: true,
  contracts: [{ name: 'Game', address: parseAddress(target), selectors: ['0xa9059cbb'] }],
});

function microseconds(step: (index: number) => unknown, calls: number): number {
  for (let index = 0; index < calls; index += 1) step(index & 255);
  const rounds = Array.from({ length: 7 }, () => {
    const start = process.cpuUsage();
    for (let index = 0; index < calls; index += 1) step(index & 255);
    const { user, system } = process.cpuUsage(start);
    return (user + system) / calls;
  });
  return rounds.sort((a, b) => a - b)[3] ?? 0;
}

/** Every address on it is USDC with 6 decimals. */
class DollarChain extends FakeChain {
  override call({ data }: CallRequest): Promise<Hex> {
    const symbol: Hex = `0x${Buffer.from('USDC').toString('hex').padEnd(64, '0')}`;
    const decimals: Hex = `0x${'6'.padStart(64, '0')}`;
    return Promise.resolve(data === '0x95d89b41' ? symbol : decimals);
  }
}

/** The work of a quote per token once limits and prices are known; prices are warm before the measurement. */
async function warmQuote(count: number): Promise<(index: number) => unknown> {
  const tokens = Array.from({ length: count }, (_, index): FeeTokenSpec => ({
    chainId: terms.chainId,
    address: parseAddress(`0x${(index + 1).toString(16).padStart(40, '0')}`),
    symbol: 'USDC',
    decimals: 6,
    price: { static: { rate: '3000000000', usdPerNative: '3000' } },
    premiumPercentage: '7.5',
  }));
  const served = new Map(tokens.map((token) => [token.address.toLowerCase(), token]));
  const prices = createPrices({
    chains: { get: () => new DollarChain({ chainId: terms.chainId, time: 1_700_000_000 }) },
    chainConfigs: () => [{ chainId: terms.chainId, rpc: { urls: [] }, feeTokens: tokens }],
    clock: { now: () => 1_700_000_000_000 as EpochMs },
    log: silentLogger,
    metrics: noMetrics,
  });
  await Promise.all(tokens.map((token) => prices.get(token)));
  const { token: codec } = layouts['vendor-1.1.0'];
  if (codec === undefined) throw new Error('the layout has no token mode');

  return (index) => {
    const op = at(operations, index);
    return chooseTokens({}, served).tokens.map((token) => {
      const answer = prices.peek(token);
      if (answer === undefined) throw new Error('the price is not warm');
      const price = requirePrice(token, answer);
      const tokenTerms = {
        ...terms,
        token: toAddressKey(`0x${token.address.slice(2)}`),
        exchangeRate: price.rate,
        priceMarkup: Number(parseMarkup(token.premiumPercentage)),
        options: {},
      };
      return renderFeeQuote({
        token,
        price,
        maxCharge: codec.maxTokenCharge(op, tokenTerms),
        usdPerNative: price.usdPerNative,
        validUntil: 1_700_000_120 as EpochSeconds,
      });
    });
  };
}

function at<T>(values: readonly T[], index: number): T {
  const value = values[index];
  if (value === undefined) throw new RangeError(`no value ${index}`);
  return value;
}

const rows: Record<string, { 'CPU µs': string }> = {};
function measure(name: string, step: (index: number) => unknown, calls = 20_000): void {
  rows[name] = { 'CPU µs': microseconds(step, calls).toFixed(2) };
}

measure('JSON.parse of the operation', (index) => JSON.parse(at(wires, index)));
measure('parseUserOperation', (index) => parseUserOperation(at(bodies, index), '0.6'));
measure('decodeCalls, 1 call', (index) => decodeCalls(at(singles, index)));
measure('decodeCalls, 16 calls', (index) => decodeCalls(at(batches, index)));
measure('decodeCalls + decideCalls, 1 call', (index) =>
  decideCalls(allowList, decodeCalls(at(singles, index)), { initCode: '0x' }),
);
// The examples, and the most that one evaluation may take: 64 calls up to the last step.
const expressions = new Map(
  readdirSync(join(repositoryRoot, 'examples/policies'))
    .filter((name) => name.startsWith('expression-'))
    .map((name): [string, string] => [
      name,
      // The policy comes after the contract whose methods it names.
      parseAllDocuments(readFileSync(join(repositoryRoot, 'examples/policies', name), 'utf8'))
        .at(-1)
        ?.toJS().spec.expression.text,
    ]),
);
expressions.set(
  'the largest',
  `calls.all(c, c.method == "transfer(address,uint256)" && ${Array.from({ length: 4 }, () => 'c.args[1] % (c.args[1] + 1)').join(' + ')} >= 0)`,
);
const declared = parseMethods([
  'transfer(address to,uint256 amount)',
  'approve(address spender,uint256 amount)',
  'mint(address to,uint256 count)',
]);
for (const [name, text] of expressions) {
  const { evaluate } = compileExpression(text, declared);
  for (const size of [1, 64]) {
    const facts = variants.map((index) => {
      const callData = batchOf(size, index);
      const decoded = decodeCalls(callData);
      return {
        sender: at(operations, index).sender,
        chainId: terms.chainId,
        nowSeconds: 1_700_000_000,
        calls: decoded.outcome === 'calls' ? decoded.calls : undefined,
        callData: decodedHex(callData),
        cost: undefined,
      };
    });
    measure(`${name}, ${size} calls`, (index) => evaluate(at(facts, index), allSteps()), 5_000);
  }
}
for (const id of layoutIds) {
  const { sponsorship } = layouts[id];
  measure(`${id}: hash`, (index) => sponsorship.hash(at(operations, index), terms));
  measure(`${id}: hash + digest + encode`, (index) => {
    personalItem(sponsorship.hash(at(operations, index), terms));
    return sponsorship.encode(at(operations, index), terms, stubSignature());
  });
}
for (const version of entryPointVersions) {
  const hasher = userOpHasher({ version, entryPoint: entryPoints[version], chainId: 31337 });
  const data: Hex = `0x${'ab'.repeat(276)}`;
  measure(`userOpHash ${version}`, (index) => hasher(at(operations, index), data));
}
for (const count of [1, 20]) measure(`fee quote, ${count} warm tokens`, await warmQuote(count));
const items = variants.map(() => signingItem(randomBytes(62)));
for (const load of [loadNativeCurve, loadWasmCurve]) {
  const signer = createLocalSigner(await load(), randomBytes(32), 'bench');
  measure(`sign, ${signer.implementation}`, (index) => signer.sign([at(items, index)]), 1000);
}
console.table(rows);
