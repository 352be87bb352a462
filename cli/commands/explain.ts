import { Option, type Command } from 'commander';
import { Interface } from 'ethers/abi';
import { DomainError, invalidInput, errorMessage, quote } from '../../core/errors.js';
import { isAddressText, zeroAddress } from '../../core/units/address.js';
import { sampleOperation } from '../../server/http/test-delivery.js';
import { readField, isObject } from '../../core/schema/json-value.js';
import { table } from '../../standalone/console.js';
import { readBody } from '../api/body.js';
import { callServer } from '../api/client.js';
import { readServer, withServer, type Server, type ServerOptions } from '../api/server.js';
import { Refused, show, withFormat, type Format, type Terminal } from '../terminal.js';

type Options = ServerOptions & {
  readonly output: Format;
  readonly paymaster: string;
  readonly mode: string;
  readonly feeToken?: string;
  readonly contract?: string;
  readonly method?: string;
  readonly sender: string;
};

/** `paymaster paymaster explain` for people: the steps as a table, and the outcome as the exit code. */
export function addExplain(program: Command, terminal: Terminal): void {
  withServer(withFormat(program.command('explain')))
    .description('Say what every rule would say to an operation; exit code 1 if it would be refused')
    .argument('[file]', 'the operation as JSON or YAML; - is stdin')
    .argument('[values...]')
    .usage('[options] FILE | --contract NAME --method METHOD [VALUE...]')
    .option('--contract <name>', 'instead of a file: a call of this contract, as "contract list" has it')
    .option('--method <method>', 'the method that is called, e.g. mint; its values follow as arguments')
    .option('--sender <address>', 'the account that calls it', zeroAddress)
    .requiredOption('--paymaster <name>', 'name of the paymaster, as "paymaster paymaster list" has it')
    .addOption(
      new Option('--mode <mode>', 'how it is paid').choices(['SPONSORED', 'ERC20']).default('SPONSORED'),
    )
    .option('--fee-token <address>', 'the token that pays, in mode ERC20')
    .action((file: string | undefined, values: readonly string[], options: Options) =>
      explain(terminal, file, values, options),
    );
}

async function explain(
  terminal: Terminal,
  file: string | undefined,
  values: readonly string[],
  options: Options,
): Promise<void> {
  const { paymaster, mode, feeToken } = options;
  const context = { mode, ...(feeToken === undefined ? {} : { tokenInfo: { feeTokenAddress: feeToken } }) };
  const server = readServer(terminal, options);
  const userOp = await readOperation(
    server,
    [file, ...values].filter((each) => each !== undefined),
    options,
  );
  const explanation = await callServer(server, {
    method: 'POST',
    path: `/paymasters/${encodeURIComponent(paymaster)}/explain`,
    body: { userOp, context },
  });
  const result = isObject(explanation) ? explanation : {};
  const steps = Array.isArray(result['steps']) ? result['steps'].filter(isObject) : [];
  const cells = steps.map((step) =>
    ['step', 'verdict', 'reason', 'detail'].map((name) => {
      const value = step[name];
      return typeof value === 'string' ? value : '';
    }),
  );
  // What to do about the first step that stops it.
  const remedy = steps.find(({ verdict }) => verdict === 'refuse' || verdict === 'error')?.['remedy'];
  const outcome = result['sponsored'] === true ? 'would be signed' : 'would be refused';
  show(terminal, options.output, {
    text: `${table(cells)}\n${outcome}${typeof remedy === 'string' ? `. ${remedy}` : ''}`,
    data: result,
  });
  if (result['sponsored'] !== true) throw new Refused();
}

const account = new Interface(['function execute(address to, uint256 value, bytes data)']);

/** That of the file, or an ordinary one that calls a method of a registered contract. Throws INVALID_INPUT. */
async function readOperation(
  server: Server,
  words: readonly string[],
  { contract, method, sender }: Options,
): Promise<unknown> {
  if (contract === undefined && method === undefined) {
    const [file, ...others] = words;
    if (file !== undefined && others.length === 0) return readBody(file);
    throw invalidInput({ field: 'the operation', expected: 'one file, or --contract with --method' });
  }
  if (contract === undefined || method === undefined)
    throw invalidInput({ field: '--contract', expected: 'given together with --method' });
  if (!isAddressText(sender))
    throw invalidInput({ field: '--sender', expected: 'an address', value: quote(sender) });
  const path = `/contracts/${encodeURIComponent(contract)}`;
  const spec = readField(await callServer(server, { method: 'get', path }), 'spec');
  const data = encodeCall(String(readField(spec, 'abi')), method, words);
  return {
    ...sampleOperation,
    sender,
    callData: account.encodeFunctionData('execute', [readField(spec, 'address'), 0n, data]),
  };
}

function encodeCall(abi: string, method: string, values: readonly string[]): string {
  const contract = new Interface(abi);
  const found = contract.fragments.filter(
    (each) => each.type === 'function' && [each.format().split('(')[0], each.format()].includes(method),
  );
  const [first] = found.map((each) => each.format());
  if (first === undefined || found.length > 1)
    throw invalidInput({
      field: '--method',
      expected:
        first === undefined
          ? 'a method of the ABI of the contract'
          : `one of ${found.map((each) => each.format()).join(', ')}`,
      value: quote(method),
    });
  const { inputs } = contract.getFunction(first)!;
  if (inputs.length !== values.length)
    throw new DomainError(
      'INVALID_INPUT',
      `${first} takes ${inputs.length} ${inputs.length === 1 ? 'value' : 'values'}, got ${values.length}`,
    );
  try {
    // Lists and tuples are typed as JSON.
    return contract.encodeFunctionData(
      first,
      values.map((value, at) =>
        inputs[at]?.baseType === 'array' || inputs[at]?.baseType === 'tuple' ? JSON.parse(value) : value,
      ),
    );
  } catch (cause) {
    throw new DomainError('INVALID_INPUT', `the values of ${first}: ${errorMessage(cause).split(' (')[0]}`, {
      cause,
    });
  }
}
