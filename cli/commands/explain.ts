import { Option, type Command } from 'commander';
import { isObject } from '../../core/schema/json-value.js';
import { table } from '../../standalone/console.js';
import { readBody } from '../api/body.js';
import { callServer } from '../api/client.js';
import { readServer, withServer, type ServerOptions } from '../api/server.js';
import { Refused, show, withFormat, type Format, type Terminal } from '../terminal.js';

type Options = ServerOptions & {
  readonly output: Format;
  readonly paymaster: string;
  readonly mode: string;
  readonly feeToken?: string;
};

/** `paymaster paymaster explain` for people: the steps as a table, and the outcome as the exit code. */
export function addExplain(program: Command, terminal: Terminal): void {
  withServer(withFormat(program.command('explain')))
    .description('Say what every rule would say to an operation; exit code 1 if it would be refused')
    .argument('<file>', 'the operation as JSON or YAML; - is stdin')
    .requiredOption('--paymaster <name>', 'name of the paymaster, as "paymaster paymaster list" has it')
    .addOption(
      new Option('--mode <mode>', 'how it is paid').choices(['SPONSORED', 'ERC20']).default('SPONSORED'),
    )
    .option('--fee-token <address>', 'the token that pays, in mode ERC20')
    .action((file: string, options: Options) => explain(terminal, file, options));
}

async function explain(terminal: Terminal, file: string, options: Options): Promise<void> {
  const { paymaster, mode, feeToken } = options;
  const context = { mode, ...(feeToken === undefined ? {} : { tokenInfo: { feeTokenAddress: feeToken } }) };
  const explanation = await callServer(readServer(terminal, options), {
    method: 'POST',
    path: `/paymasters/${encodeURIComponent(paymaster)}/explain`,
    body: { userOp: readBody(file), context },
  });
  const result = isObject(explanation) ? explanation : {};
  const steps = Array.isArray(result['steps']) ? result['steps'].filter(isObject) : [];
  const cells = steps.map((step) =>
    ['step', 'verdict', 'reason', 'detail'].map((name) => {
      const value = step[name];
      return typeof value === 'string' ? value : '';
    }),
  );
  show(terminal, options.output, {
    text: `${table(cells)}\n${result['sponsored'] === true ? 'would be signed' : 'would be refused'}`,
    data: result,
  });
  if (result['sponsored'] !== true) throw new Refused();
}
