import type { Command } from 'commander';
import { hasErrors, renderText, reportDocument } from '../../operator/validate/report.js';
import { validateManifests } from '../../operator/validate/validate.js';
import { manifestManager } from '../../adapters/manifests/apply-manifests.js';
import { compare, renderFieldChanges, type Compared } from '../state/compare.js';
import { asManifests, leftBehind, readManifests, renderManifests } from '../state/manifest.js';
import { readState, withSource, type SourceOptions } from '../state/source.js';
import { Refused, say, show, withFormat, type Format, type Terminal } from '../terminal.js';

type Options = SourceOptions & {
  readonly output: Format;
  readonly manager?: string;
  readonly dev?: true;
  readonly force?: true;
};

/** From what is there to manifests, and back: what would apply change, and would it be taken. */
export function addExport(program: Command, terminal: Terminal): void {
  withSource(program.command('export'))
    .description('Print what is there as manifests; what cannot travel is listed on stderr')
    .action(async (options: Options) => {
      const objects = await readState(terminal, options);
      for (const line of leftBehind(objects)) say(terminal, line);
      terminal.out(renderManifests(objects));
    });
  withManifests(program.command('diff'))
    .description('Show what apply would change; exit code 1 if anything differs')
    .action(async (paths: readonly string[], options: Options) => {
      const { compared } = await comparing(terminal, paths, options, true);
      show(terminal, options.output, {
        text: render(compared, 'nothing differs'),
        data: { changes: compared },
      });
      if (compared.some(({ change }) => change !== 'unchanged')) throw new Refused();
    });
  withManifests(program.command('apply-check'))
    .description(
      'Say whether apply would be taken, by the API server and by the operator; exit code 1 if not',
    )
    .option('--dev', 'webhooks may use http and loopback addresses, as under "make run"')
    .option('--force', 'take fields from other managers, as Argo CD and kubectl --force-conflicts do')
    .action(async (paths: readonly string[], options: Options) => {
      const { compared, read, there } = await comparing(terminal, paths, options, options.force === true);
      const around = { objects: asManifests(there), problems: [] };
      const report = await validateManifests(read, around, options.dev === true, terminal.env);
      const changes = compared.filter(({ change }) => change !== 'only there');
      const text = `${render(changes, 'nothing changes')}\n${renderText(report)}`;
      show(terminal, options.output, { text, data: { changes, ...reportDocument(report) } });
      const isRefused = changes.some(({ change }) => change === 'refused');
      if (isRefused || hasErrors(report.findings)) throw new Refused();
    });
}

function withManifests(command: Command): Command {
  return withFormat(withSource(command))
    .argument('<path...>', 'manifests, or folders of manifests with their subfolders')
    .option('--manager <name>', 'field manager of the apply; default: kubectl, or that of "make run"');
}

/** Throws INVALID_INPUT for a manifest that cannot be read. */
async function comparing(terminal: Terminal, paths: readonly string[], options: Options, force: boolean) {
  const read = readManifests(paths);
  const there = await readState(terminal, options);
  const manager = options.manager ?? (options.dataDir === undefined ? 'kubectl' : manifestManager);
  return { read, there, compared: compare(read.objects, there, { manager, force }) };
}

const signs = { created: '+', changed: '~', unchanged: '=', refused: '✗', 'only there': '-' } as const;

function render(compared: readonly Compared[], nothing: string): string {
  const lines = compared
    .filter(({ change }) => change !== 'unchanged')
    .flatMap(({ object, change, fields, message }) => [
      `${signs[change]} ${object} ${change}${message === undefined ? '' : `: ${message}`}`,
      ...renderFieldChanges(fields),
    ]);
  return lines.length === 0 ? nothing : lines.join('\n');
}
