import { join, resolve } from 'node:path';
import type { Command } from 'commander';
import { findRoot } from '../../standalone/root.js';
import { renderStatus } from '../../standalone/status/render.js';
import { readStatus } from '../../standalone/status/read-status.js';
import { say, show, withFormat, type Format, type Terminal } from '../terminal.js';

export function addStatus(program: Command, terminal: Terminal): void {
  withFormat(program.command('status'))
    .description('Resources, rules with what is left, deposits and the last refusals of the running instance')
    .option(
      '--data-dir <folder>',
      'its data directory; default: PAYMASTER_DATA_DIR, else .paymaster of the clone',
    )
    .action(async ({ dataDir, output }: { readonly dataDir?: string; readonly output: Format }) => {
      const folder = dataDir ?? terminal.env['PAYMASTER_DATA_DIR'];
      const { status, also } = await readStatus(
        resolve(folder || join(findRoot(import.meta.url), '.paymaster')),
      );
      show(terminal, output, { text: renderStatus(status), data: status });
      if (also !== undefined) say(terminal, also);
    });
}
