import { Option, type Command } from 'commander';
import { invalidInput } from '../../core/errors.js';
import { isObject, parseJson } from '../../core/schema/json-value.js';
import { table } from '../../standalone/console.js';
import { readText } from '../../adapters/read-text.js';
import { readBody } from '../api/body.js';
import { send } from '../api/client.js';
import { readServer, requireUrl, withServer, type ServerOptions } from '../api/server.js';
import { Refused, show, withFormat, type Format, type Terminal } from '../terminal.js';

type Options = ServerOptions & {
  readonly output: Format;
  readonly paymasterUrlFile: string;
  readonly mode: string;
  readonly feeToken?: string;
};

/** `pm_explainSponsorship`, with a token of the organisation. */
export function addExplain(program: Command, terminal: Terminal): void {
  withServer(withFormat(program.command('explain')))
    .description('Say what every rule would say to an operation; exit code 1 if it would be refused')
    .argument('<file>', 'the operation as JSON or YAML; - is stdin')
    // It holds the apiKey.
    .requiredOption('--paymaster-url-file <file>', 'file with the URL of the paymaster, as wallets have it')
    .addOption(
      new Option('--mode <mode>', 'how it is paid').choices(['SPONSORED', 'ERC20']).default('SPONSORED'),
    )
    .option('--fee-token <address>', 'the token that pays, in mode ERC20')
    .action((file: string, options: Options) => explain(terminal, file, options));
}

async function explain(terminal: Terminal, file: string, options: Options): Promise<void> {
  const { paymasterUrlFile, mode, feeToken, insecure } = options;
  const { token } = readServer(terminal, options);
  const url = requireUrl(paymasterUrlFile, readText('--paymaster-url-file', paymasterUrlFile), insecure);
  const terms = { mode, ...(feeToken === undefined ? {} : { tokenInfo: { feeTokenAddress: feeToken } }) };
  const body = { jsonrpc: '2.0', id: 1, method: 'pm_explainSponsorship', params: [readBody(file), terms] };
  const { text } = await send(url, '', { method: 'POST', headers: { authtoken: token }, body });
  const answer = parseJson(text);
  const { result, error } = isObject(answer) ? answer : {};
  if (isObject(error))
    throw invalidInput({ field: file, expected: `explainable: ${String(error['message'])}` });
  if (!isObject(result)) throw new Refused('that URL does not answer as a paymaster');
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
