#!/usr/bin/env node
import { parseArgs } from 'node:util';
import { checks, Refused } from './checks.mjs';

const usage = `usage: paymaster-conformance URL --chain-id ID [options]

Asks an ERC-7677 paymaster service what the ERC and its clients demand, and prints a table. Ends with 0 when it does all of it, 1 when it does
not, 2 when it cannot be asked. Data that it signs are not used.

  --chain-id ID          of the chain, decimal or hex
  --entry-point ADDRESS  that the service signs for; more than once for several. Default: that of 0.6 and that of 0.7
  --sender ADDRESS       account of the operation. Default: an address that nobody has
  --call-data HEX        a call that the service sponsors. Default: 0x
  --context JSON         of the requests. Default: {}
  --max-fee-per-gas WEI  Default: 2000000000
  --json                 print rows as JSON`;

const known = {
  '0x5ff137d4b0fdcd49dca30c7cf57e578a026d2789': '0.6',
  '0x0000000071727de22e5e9d8baf0edac6f37da032': '0.7',
  '0x4337084d9e255ff0702461cf8895ce9e3b5ff108': '0.8',
  '0x433709009b8330fda32311df1c2afa402ed8d009': '0.9',
};

// A reader that has seen enough, such as `head`, changes no status.
process.stdout.on('error', (failed) => {
  if (failed.code !== 'EPIPE') throw failed;
});
process.exitCode = await main(process.argv.slice(2));

async function main(args) {
  let asked;
  try {
    asked = readArguments(args);
  } catch (error) {
    console.error(`error: ${error.message}\n\n${usage}`);
    return 2;
  }
  const { targets, isJson } = asked;
  const rows = [];
  try {
    for (const check of checks)
      rows.push({ check: check.name, by: check.by, results: await askAll(check, targets) });
  } catch (error) {
    console.error(`error: ${targets[0].url} does not answer: ${error.cause?.message ?? error.message}`);
    return 2;
  }
  console.log(isJson ? JSON.stringify(rows, undefined, 2) : render(rows, targets));
  return rows.some(({ results }) => results.some(({ result }) => result === 'failed')) ? 1 : 0;
}

async function askAll(check, targets) {
  const results = [];
  for (const target of targets) {
    const skipped = check.skip?.(target);
    if (skipped) results.push({ entryPoint: target.name, result: 'not applicable', detail: skipped });
    else results.push({ entryPoint: target.name, ...(await ask(check, target)) });
  }
  return results;
}

async function ask(check, target) {
  try {
    const detail = await check.run(target);
    return detail === undefined ? { result: 'passed' } : { result: 'failed', detail };
  } catch (error) {
    if (error instanceof Refused) return { result: 'failed', detail: error.message };
    throw error;
  }
}

function render(rows, targets) {
  const names = targets.map(({ name }) => name);
  const words = { passed: 'yes', failed: 'NO', 'not applicable': '–' };
  const width = Math.max(...rows.map(({ check }) => check.length));
  const widths = names.map((name) => Math.max(name.length, 3));
  const line = (first, cells) =>
    `${first.padEnd(width)}  ${cells.map((cell, i) => cell.padEnd(widths[i])).join('  ')}`.trimEnd();
  const table = rows.map(({ check, results }) =>
    line(
      check,
      results.map(({ result }) => words[result]),
    ),
  );
  const failed = rows.flatMap(({ check, by, results }) =>
    results
      .filter(({ result }) => result === 'failed')
      .map(({ entryPoint, detail }) => `${entryPoint}: ${check} (${by})\n    ${detail}`),
  );
  return [line('EntryPoint', names), ...table, ...(failed.length === 0 ? [] : ['', ...failed])].join('\n');
}

function readArguments(args) {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      'chain-id': { type: 'string' },
      'entry-point': { type: 'string', multiple: true },
      sender: { type: 'string', default: `0x${'c0'.repeat(20)}` },
      'call-data': { type: 'string', default: '0x' },
      context: { type: 'string', default: '{}' },
      'max-fee-per-gas': { type: 'string', default: '2000000000' },
      json: { type: 'boolean', default: false },
    },
  });
  const [url] = positionals;
  if (positionals.length !== 1 || !URL.canParse(url))
    throw new Error(`one URL is needed, got ${positionals.join(' ') || 'none'}`);
  const chainId = hexOf('--chain-id', values['chain-id']);
  const fee = hexOf('--max-fee-per-gas', values['max-fee-per-gas']);
  const entryPoints = values['entry-point'] ?? Object.keys(known).slice(0, 2);
  for (const [name, address] of [
    ['--sender', values.sender],
    ...entryPoints.map((one) => ['--entry-point', one]),
  ])
    if (!/^0x[0-9a-f]{40}$/i.test(address)) throw new Error(`${name} must be an address, got "${address}"`);
  if (!/^0x([0-9a-f]{2})*$/i.test(values['call-data']))
    throw new Error('--call-data must be whole bytes as 0x hex');
  const context = contextOf(values.context);
  const targets = entryPoints.map((entryPoint) => {
    const name = known[entryPoint.toLowerCase()] ?? entryPoint;
    const isFirst = name === '0.6';
    const operation = {
      sender: values.sender,
      nonce: '0x0',
      ...(isFirst ? { initCode: '0x' } : {}),
      callData: values['call-data'],
      callGasLimit: '0x30d40',
      verificationGasLimit: '0x493e0',
      preVerificationGas: '0xea60',
      maxFeePerGas: fee,
      maxPriorityFeePerGas: fee,
    };
    return { url, name, isFirst, entryPoint, chainId, context, operation };
  });
  return { targets, isJson: values.json };
}

function hexOf(name, value) {
  if (value === undefined || !/^(0x[0-9a-f]+|[0-9]+)$/i.test(value))
    throw new Error(`${name} must be a number, got ${value ?? 'nothing'}`);
  return `0x${BigInt(value).toString(16)}`;
}

function contextOf(text) {
  try {
    const context = JSON.parse(text);
    if (typeof context === 'object' && context !== null && !Array.isArray(context)) return context;
  } catch {
    // The sentence below says it.
  }
  throw new Error('--context must be a JSON object');
}
