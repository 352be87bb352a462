import type { Command } from 'commander';
import { DomainError, invalidInput, quote } from '../../core/errors.js';
import {
  inOrder,
  isFinding,
  problem,
  problemsAmong,
  readinessProblem,
  withoutOrganisation,
} from '../../core/problems/problems.js';
import { renderProblem, type ProblemRecord } from '../../core/problems/render.js';
import type { AnyResource } from '../../core/resources/kinds.js';
import { isObject, parseJson } from '../../core/schema/json-value.js';
import { printable } from '../../core/terminal-text.js';
import { given } from '../../core/units/given.js';
import { systemClock } from '../../core/units/time.js';
import { callServer, send } from '../api/client.js';
import { hasServer, readServer } from '../api/server.js';
import { askPods } from '../state/pods.js';
import { readState, withSource, type SourceOptions } from '../state/source.js';
import { Refused, say, show, withFormat, withList, type Format, type Terminal } from '../terminal.js';

type Options = SourceOptions & {
  readonly output: Format;
  readonly readyz: readonly string[];
  readonly pods?: string;
};

export function addDoctor(program: Command, terminal: Terminal): void {
  const command = withFormat(withSource(program.command('doctor'))).description(
    'Say what is wrong, the gravest first, and what to do; exit code 1 if anything is',
  );
  withList(command, '--readyz <url>', 'also ask a process of rpc or dashboard, e.g. by kubectl port-forward')
    .option(
      '--pods <namespace>',
      "also ask the installation's pods in this namespace, through the API server",
    )
    .action(async (options: Options) => {
      const processes = await Promise.all(options.readyz.map(askProcess));
      const pods = await findUnready(terminal, options);
      const found = [...processes.flat(), ...pods, ...(await ask(terminal, options))];
      show(terminal, options.output, { text: render(found), data: { problems: found } });
      if (found.some(isFinding)) throw new Refused();
    });
}

/** Of the resources where some are named; else of the server of a token, and without one of the cluster of KUBECONFIG. */
async function ask(terminal: Terminal, options: Options): Promise<readonly ProblemRecord[]> {
  const { kubeconfig, dataDir, got, server, namespace, context } = options;
  const isResources = kubeconfig !== undefined || dataDir !== undefined || got.length > 0;
  const isServer = server === true || context !== undefined || hasServer(terminal);
  if (!isResources && isServer) return askServer(terminal, options);
  if (!isResources && (terminal.env['KUBECONFIG'] || '') === '') {
    if (options.readyz.length > 0) return [];
    throw new DomainError(
      'INVALID_INPUT',
      'nothing is chosen to look at: "paymaster login URL", --kubeconfig FILE, or beside "make run" --data-dir .paymaster',
    );
  }
  const objects = (await readState(terminal, options)) as unknown as readonly AnyResource[];
  const whole = namespace === undefined && got.length === 0;
  const problems = [
    ...(whole ? withoutOrganisation(objects) : []),
    ...problemsAmong(objects, systemClock.now()),
  ];
  return inOrder(problems).map(renderProblem);
}

async function askServer(terminal: Terminal, options: Options): Promise<readonly ProblemRecord[]> {
  const answer = await callServer(readServer(terminal, options), { method: 'get', path: '/problems' });
  const { items, complete } = answer as {
    readonly items: readonly ProblemRecord[];
    readonly complete: boolean;
  };
  if (!complete) say(terminal, 'there are more: the gravest are shown');
  return items;
}

/** Throws UNAVAILABLE where it does not answer. */
async function askProcess(address: string): Promise<readonly ProblemRecord[]> {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url === undefined || !['http:', 'https:'].includes(url.protocol))
    throw invalidInput({ field: '--readyz', expected: 'an http or https URL', value: quote(address) });
  const { text } = await send(url.origin, '/readyz', { method: 'GET', headers: {}, body: undefined });
  const body = parseJson(text);
  if (!isObject(body) || !Array.isArray(body['checks']))
    throw new DomainError(
      'UNAVAILABLE',
      `${url.origin} is not the port of an rpc or dashboard process for /readyz (8081 in the chart)`,
    );
  return failedChecks(url.host, body['checks']);
}

/** Of the pods of the installation. One that cannot be asked is named: nobody shall believe that it was. */
async function findUnready(
  terminal: Terminal,
  { pods: namespace, kubeconfig = terminal.env['KUBECONFIG'] || undefined, kubeContext: context }: Options,
): Promise<readonly ProblemRecord[]> {
  if (namespace === undefined) return [];
  if (kubeconfig === undefined)
    throw invalidInput({ field: '--pods', expected: 'given with --kubeconfig (or KUBECONFIG)' });
  const pods = await askPods({ kubeconfig, ...given({ context }) }, namespace);
  if (pods.length === 0)
    throw new Refused(`${quote(namespace)} has no pods of the chart: is it the namespace of the release?`);
  return pods.flatMap((pod) => {
    if ('checks' in pod) return failedChecks(pod.name, pod.checks);
    const { name, unready, silence } = pod;
    if (unready === undefined) {
      say(terminal, `${name} is ready; what it checks cannot be read through the API server: ${silence}`);
      return [];
    }
    const of = { kind: 'Process', name, displayName: name } as const;
    return [
      renderProblem(problem('replica-not-ready', of, `${unready}; its checks cannot be read: ${silence}`)),
    ];
  });
}

function failedChecks(process: string, checks: readonly unknown[]): readonly ProblemRecord[] {
  return checks
    .filter(isObject)
    .filter(({ ready }) => ready !== true)
    .map(({ name, reason, action }) =>
      renderProblem(
        readinessProblem(process, { name: String(name), reason: String(reason), action: String(action) }),
      ),
    );
}

function render(found: readonly ProblemRecord[]): string {
  const blocks = found.map((each) => {
    const { severity, check, noun, namespace, displayName, message, meaning, remedy, since, runbook } = each;
    const where = namespace === null ? displayName : `${namespace}/${displayName}`;
    return (
      [
        `${severity.padEnd(8)} ${check}: ${noun} ${where}${since === null ? '' : `, since ${since}`}`,
        `         ${message === '' ? meaning : message}`,
        `         → ${remedy} (${runbook})`,
      ]
        // An owner may have put a line feed into a name, to write lines of this report.
        .map(printable)
        .join('\n')
    );
  });
  return found.some(isFinding) ? blocks.join('\n') : [...blocks, 'nothing is wrong'].join('\n');
}
