import { spawn, type ChildProcess } from 'node:child_process';
import type { E2eConfig } from './config.js';

export type Run = { readonly code: number | null; readonly stdout: string; readonly stderr: string };

export type Tools = {
  /** Output of a command that must succeed; throws what it printed. */
  kubectl(args: readonly string[], input?: string): Promise<string>;
  /** The same without judging. */
  tryKubectl(args: readonly string[], input?: string): Promise<Run>;
  helm(args: readonly string[]): Promise<string>;
  /** Starts it and leaves it running. */
  startKubectl(args: readonly string[]): ChildProcess;
};

const timeoutMs = 300_000;

export function createTools(config: Pick<E2eConfig, 'kubectl' | 'helm'>): Tools {
  const must = async (command: string, args: readonly string[], input?: string): Promise<string> => {
    const result = await run(command, args, input);
    if (result.code === 0) return result.stdout;
    throw new Error(`${command} ${args.slice(0, 6).join(' ')}…\n${result.stdout}${result.stderr}`.trim());
  };
  return {
    kubectl: (args, input) => must(config.kubectl, args, input),
    tryKubectl: (args, input) => run(config.kubectl, args, input),
    helm: (args) => must(config.helm, args),
    startKubectl: (args) => spawn(config.kubectl, args, { stdio: ['pipe', 'pipe', 'pipe'] }),
  };
}

export function run(command: string, args: readonly string[], input = ''): Promise<Run> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'pipe'], timeout: timeoutMs });
    let stdout = '';
    let stderr = '';
    child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, stdout, stderr }));
    child.stdin.on('error', () => {});
    child.stdin.end(input);
  });
}
