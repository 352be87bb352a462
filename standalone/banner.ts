import { Interface } from 'ethers/abi';
import { id } from 'ethers/hash';
import { entryPointRules } from '../core/entry-point/table.js';
import type { Connection } from './connection.js';
import type { StandaloneConfig } from './config.js';
import { table, type Console } from './console.js';
import type { DataDirectory } from './data-directory.js';
import { formatStates, type ResourceState } from './resource-state.js';

/** Prints what runs where, the state of each resource, and commands that work when pasted. */
export function printBanner(deps: {
  readonly console: Console;
  readonly config: StandaloneConfig;
  readonly directory: DataDirectory;
  readonly connection: Connection;
  readonly states: readonly ResourceState[];
  readonly isLocalChain: boolean;
  readonly signInCode?: string;
}): void {
  const { console, config, directory, connection, states, signInCode } = deps;
  console.line();
  console.line('Running');
  console.line(
    table([
      [
        'console',
        `${config.publicUrl ?? connection.dashboardUrl}/console/${signInCode === undefined ? '' : `#code=${signInCode}`}`,
        signInCode === undefined ? '' : 'signs in once, within 15 minutes; later with authToken',
      ],
      ['dashboard API', `${connection.dashboardUrl}/api/v2/public/sdk`, 'header authToken, see below'],
      [
        'JSON-RPC',
        connection.rpcUrl ?? `${config.publicUrl ?? connection.dashboardUrl}/api/v1/{chainId}/{apiKey}`,
        '',
      ],
      ['health, metrics', `${connection.dashboardUrl}/healthz /readyz /metrics`, ''],
      [deps.isLocalChain ? 'dev chain (anvil)' : 'chain', connection.chainRpcUrl, chainText(connection)],
      ...bundlerRow(connection, deps.isLocalChain),
      ['manifests', config.manifestDirectory, 'edit a file: it takes effect at once'],
      ['data, keys', directory.path, ''],
      ['log (JSON lines)', config.logTo === 'file' ? directory.logFile : 'standard output', ''],
      ['connection facts', directory.connectionFile, ''],
    ]),
  );

  printStates(console, states);

  const example = sponsorExample(connection);
  if (example !== undefined) {
    console.line();
    console.line(
      'Sponsor an operation (the answer holds paymasterAndData and the gas limits that were signed)',
    );
    console.line(example);
  }
  printListing(
    console,
    connection,
    `node -p "JSON.parse(require('fs').readFileSync('${quoted(directory.connectionFile)}')).authToken"`,
  );
  console.line();
  console.line('Something to look at in the console, for a minute, from another terminal: make demo-traffic');
  console.line('Resources, use of limits, deposits and refusals, from another terminal: make status');
  console.line('Ctrl-C stops everything. Start again with "make run": the data stays.');
}

function bundlerRow({ bundlers }: Connection, isLocalChain: boolean): readonly (readonly string[])[] {
  if (bundlers !== undefined)
    return [
      ['bundler (alto)', bundlers.join(' '), 'behind JSON-RPC, the one address that wallet libraries need'],
    ];
  // On another chain a bundler is the user's own.
  return isLocalChain ? [['bundler', 'none', '"make run BUNDLER=1" installs and starts one (379 MB)']] : [];
}

/** Prints the state of each resource on one line, or a summary of many. */
export function printStates(console: Console, states: readonly ResourceState[]): void {
  console.line();
  console.line('Resources');
  for (const line of formatStates(states)) console.line(`  ${line}`);
}

/** A path for a text in quotes, of JavaScript or not, within double quotes of a shell. */
function quoted(path: string): string {
  return path.replace(/["'$`]/g, '\\$&');
}

/**
 * Prints a curl command that lists paymasters, if the connection has a token. The token itself is not shown: terminals are
 * recorded and shared. `showToken` is the command that prints it.
 */
export function printListing(
  console: Console,
  { dashboardUrl, authToken }: Connection,
  showToken: string,
): void {
  if (authToken === undefined) return;
  console.line();
  console.line('List your paymasters');
  console.line(`curl -s ${dashboardUrl}/api/v2/public/sdk/paymaster -H "authToken: $(${showToken})"`);
}

/** Prints the problems of the manifests, with file, line, field and expectation. */
export function printProblems(console: Console, problems: readonly string[]): void {
  for (const problem of problems) console.warn(problem);
}

/** An account that does not exist yet would need its initCode; for an example any address will do. */
const exampleSender = '0x1234567890123456789012345678901234567890';

/** A curl command that works when pasted; undefined while nothing is sponsored. */
export function sponsorExample(connection: Connection): string | undefined {
  const { rpcUrl, sponsoredContract, entryPointVersion } = connection;
  if (rpcUrl === undefined || sponsoredContract === undefined || entryPointVersion === undefined)
    return undefined;
  const userOp = {
    sender: exampleSender,
    nonce: '0x0',
    ...entryPointRules[entryPointVersion].form.renderInitCode('0x'),
    callData: executeCall(sponsoredContract),
    callGasLimit: '100000',
    verificationGasLimit: '150000',
    preVerificationGas: '60000',
    maxFeePerGas: '0x77359400',
    maxPriorityFeePerGas: '0x3b9aca00',
  };
  const body = {
    jsonrpc: '2.0',
    id: 1,
    method: 'pm_sponsorUserOperation',
    params: [userOp, { mode: 'SPONSORED', calculateGasLimits: false }],
  };
  return `curl -s ${rpcUrl} -H 'content-type: application/json' -d '${JSON.stringify(body)}'`;
}

/** `execute(address,uint256,bytes)` of a SimpleAccount, which calls a method without arguments. */
function executeCall({ address, method }: { readonly address: string; readonly method: string }): string {
  const account = new Interface(['function execute(address dest, uint256 value, bytes func)']);
  return account.encodeFunctionData('execute', [address, 0, id(method).slice(0, 10)]);
}

function chainText({ chainId, entryPoint, entryPointVersion }: Connection): string {
  const entryPointText = entryPoint === undefined ? '' : `, EntryPoint ${entryPointVersion} at ${entryPoint}`;
  return chainId === undefined ? '' : `id ${chainId}${entryPointText}`;
}
