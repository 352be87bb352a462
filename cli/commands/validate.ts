import type { Command } from 'commander';
import { hasErrors, renderText, reportDocument } from '../../operator/validate/report.js';
import { validate } from '../../operator/validate/validate.js';
import { Refused, show, withFormat, withList, type Format, type Terminal } from '../terminal.js';

export function addValidate(program: Command, terminal: Terminal): void {
  const command = withFormat(program.command('validate'))
    .description("Check manifests as the operator would, with the platform's settings of its environment")
    .argument('<path...>', 'manifests, or folders of manifests with their subfolders');
  withList(
    command,
    '--with <path>',
    'manifests that are there already: Chains, Organisations, or all of the cluster',
  )
    .option('--dev', 'webhooks may use http and loopback addresses, as under "make run"')
    .action(async (paths: readonly string[], options: Options) => {
      const report = await validate(
        { paths, context: options.with, isDev: options.dev === true },
        terminal.env,
      );
      show(terminal, options.output, { text: renderText(report), data: reportDocument(report) });
      if (hasErrors(report.findings)) throw new Refused();
    });
}

type Options = { readonly with: readonly string[]; readonly dev?: true; readonly output: Format };
