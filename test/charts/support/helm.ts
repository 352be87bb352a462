import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { repositoryRoot } from '../../support/repository-root.js';

export const operatorChart = join(repositoryRoot, 'charts/paymaster-operator');
export const crdsChart = join(repositoryRoot, 'charts/paymaster-crds');

/** An object as a chart renders it. */
export type Manifest = {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Readonly<Record<string, string>>;
  };
  readonly spec?: unknown;
};

export type HelmRun = { readonly ok: boolean; readonly stdout: string; readonly stderr: string };

/** Runs the pinned helm. Never throws for a failing command. */
export function helm(args: readonly string[]): HelmRun {
  const run = spawnSync(findHelm(), [...args], {
    encoding: 'utf8',
    timeout: 240_000,
    maxBuffer: 32 * 1024 * 1024,
  });
  return { ok: run.status === 0, stdout: run.stdout, stderr: run.stderr };
}

export type RenderOptions = {
  readonly release?: string;
  readonly namespace?: string;
  readonly valuesFile?: string;
  readonly set?: readonly string[];
  readonly flags?: readonly string[];
};

/** Somebody has to say where the API server is; a test that says nothing of it says this. */
export const reachAnywhere = '--set=networkPolicy.apiServer.anywhere=true';

/** Text of the rendered operator chart; throws helm's error message. */
export function renderText(options: RenderOptions = {}): string {
  const given = [
    ...(options.set ?? []),
    ...(options.valuesFile === undefined ? [] : [readFileSync(options.valuesFile, 'utf8')]),
  ];
  const saysWhere = given.some((text) => /apiServer|networkPolicy[.:] *\{? *enabled/.test(text));
  const run = helm([
    'template',
    options.release ?? 'gas',
    operatorChart,
    `--namespace=${options.namespace ?? 'gas-system'}`,
    ...(saysWhere ? [] : [reachAnywhere]),
    ...(options.valuesFile === undefined ? [] : [`--values=${options.valuesFile}`]),
    ...(options.set ?? []).map((value) => `--set=${value}`),
    ...(options.flags ?? []),
  ]);
  if (!run.ok) throw new Error(run.stderr);
  return run.stdout;
}

export function renderOperator(options: RenderOptions = {}): readonly Manifest[] {
  return parseAllDocuments(renderText(options))
    .map((document) => document.toJS() as Manifest | null)
    .filter((manifest) => manifest !== null);
}


/** Path of the binary: built into the user's cache, minutes when cold. Throws with what to install. */
function findHelm(): string {
  return execFileSync('sh', [join(repositoryRoot, 'hack/helm/build.sh')], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  }).trim();
}
