import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { repositoryRoot } from './repository-root.js';

const surroundings = [
  'a clone',
  'make run',
  'kubernetes',
  'itself',
  'a public chain',
  'a public chain, in another terminal',
  'a public chain, beside it',
  'one machine',
  'one machine, beside it',
] as const;
/**
 * Where a block of commands works: in a clone alone, beside `make run`, or against a Kubernetes API. `itself`: it starts what
 * other blocks run beside. The blocks for a public chain and for one machine are pasted on a chain of their own (test/cli).
 */
export type Surroundings = (typeof surroundings)[number];

export type CommandBlock = {
  readonly file: string;
  readonly line: number;
  readonly commands: string;
  /** Absent: it is not run here, see `reason`. */
  readonly runs?: Surroundings;
  readonly reason?: string;
};

/** Every document that tells people what to type. */
export function documents(): readonly string[] {
  const folders = ['docs', 'examples/chains', 'examples/webhook-host', 'charts', 'contracts', 'clients/viem'];
  const below = folders.flatMap((folder) =>
    readdirSync(join(repositoryRoot, folder))
      .filter((name) => name.endsWith('.md'))
      .map((name) => `${folder}/${name}`),
  );
  return ['README.md', 'CONTRIBUTING.md', 'AGENTS.md', 'ARCHITECTURE.md', 'SECURITY.md', ...below];
}

export function textOf(file: string): string {
  return readFileSync(join(repositoryRoot, file), 'utf8');
}

/** A fence with its language, and the comment in front of it, which no reader sees: `run: WHERE` or `not run: WHY`. */
const fence = /^(?:( *)<!-- (run|not run): (.+?) -->\n+)?( *)```(\w*)\n([\s\S]*?)^\4```$/gm;

/**
 * The blocks of commands of a document, in their order. Throws for a block without a comment that says where it runs, and for a
 * fence without a language, which could be commands as well.
 */
export function commandBlocks(file: string): readonly CommandBlock[] {
  const text = textOf(file);
  return [...text.matchAll(fence)].flatMap((match): CommandBlock[] => {
    const [whole, , verb, said = '', indent = '', language = '', body = ''] = match;
    const line = text.slice(0, (match.index ?? 0) + whole.indexOf('```')).split('\n').length;
    const at = `${file}:${line}`;
    if (language === '') throw new Error(`${at}: name the language of the block`);
    if (language !== 'sh') return [];
    const commands = body.replaceAll(new RegExp(`^${indent}`, 'gm'), '');
    if (verb === 'not run') return [{ file, line, commands, reason: said }];
    const runs = verb === 'run' ? surroundings.find((where) => where === said) : undefined;
    if (runs === undefined)
      throw new Error(`${at}: say before the block where it runs, e.g. <!-- run: make run -->`);
    return [{ file, line, commands, runs }];
  });
}

/** All blocks of a document that run there, as one text: people paste them into one terminal, one after the other. */
export function scriptOf(file: string, where: Surroundings): string {
  return commandBlocks(file)
    .filter(({ runs }) => runs === where)
    .map(({ commands }) => commands)
    .join('\n');
}

/** The documents that have such blocks. */
export function documentsFor(where: Surroundings): readonly string[] {
  return documents().filter((file) => scriptOf(file, where) !== '');
}
