import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { repositoryRoot } from './repository-root.js';

const entryPoints = {
  operator: 'operator/main.js',
  server: 'server/main.js',
  standalone: 'standalone/main.js',
  paymaster: 'cli/main.js',
} as const;

const projects = ['core', 'adapters', 'operator', 'server', 'standalone', 'cli'];

/** The file to start a program with: `dist/bin/NAME.js`, or its modules where they were compiled again since, without `make build`. */
export function programFile(name: keyof typeof entryPoints, root = repositoryRoot): string {
  const bundle = join(root, 'dist/bin', `${name}.js`);
  return existsSync(bundle) &&
    projects.every((project) => changedAt(root, project) < statSync(bundle).mtimeMs)
    ? bundle
    : join(root, 'dist', entryPoints[name]);
}

function changedAt(root: string, project: string): number {
  return statSync(join(root, 'dist', project, '.tsbuildinfo')).mtimeMs;
}

/** The same for the arguments of a container. */
export function withPrograms(args: readonly string[]): readonly string[] {
  return args.map((argument) => {
    const name = /^dist\/bin\/(operator|server)\.js$/.exec(argument)?.[1];
    return name === undefined ? argument : programFile(name as 'operator' | 'server');
  });
}
