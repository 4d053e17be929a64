import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { ROOT } from '../support/rules/source-files.ts';

export const KUBERNETES_FOLDER = join(ROOT, 'kubernetes');

/** What `kubectl apply --kustomize kubernetes` makes, besides the settings' ConfigMap. */
export const KUBERNETES_FILES = [
  'deployment.yaml',
  'network-policy.yaml',
  'pod-disruption-budget.yaml',
  'service-account.yaml',
  'status-service.yaml',
  'webhooks-service.yaml',
] as const;

type Labels = Readonly<Record<string, string>>;
interface Selected {
  readonly matchLabels: Labels;
}
interface Probe {
  readonly httpGet: { readonly port: string };
}

interface ContainerSpec {
  readonly image: string;
  readonly args: readonly string[];
  readonly env: readonly { readonly name: string; readonly value: string }[];
  readonly envFrom: readonly { readonly configMapRef: { readonly name: string } }[];
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
  readonly startupProbe: Probe;
  readonly livenessProbe: Probe;
  readonly readinessProbe: Probe;
  readonly lifecycle: { readonly preStop: { readonly sleep: { readonly seconds: number } } };
  readonly resources: { readonly limits: { readonly memory: string } };
  readonly securityContext: {
    readonly allowPrivilegeEscalation: boolean;
    readonly readOnlyRootFilesystem: boolean;
    readonly capabilities: { readonly drop: readonly string[] };
  };
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
}

interface ServiceSpec {
  readonly selector: Labels;
  readonly ports: readonly { readonly targetPort: string }[];
}

interface Specs {
  readonly 'deployment.yaml': {
    readonly selector: Selected;
    readonly template: {
      readonly metadata: { readonly labels: Labels };
      readonly spec: {
        readonly automountServiceAccountToken: boolean;
        readonly enableServiceLinks: boolean;
        readonly terminationGracePeriodSeconds: number;
        readonly securityContext: { readonly runAsUser: number; readonly runAsGroup: number };
        readonly containers: readonly ContainerSpec[];
      };
    };
  };
  readonly 'network-policy.yaml': { readonly podSelector: Selected };
  readonly 'pod-disruption-budget.yaml': { readonly selector: Selected };
  readonly 'status-service.yaml': ServiceSpec;
  readonly 'webhooks-service.yaml': ServiceSpec;
  readonly 'monitoring/service-monitor.yaml': { readonly selector: Selected };
}

/** One object of the folder `kubernetes`, as far as tests look at it. */
export function manifest<Name extends keyof Specs>(
  name: Name,
): { readonly metadata: { readonly labels: Labels }; readonly spec: Specs[Name] } {
  return parse(readFileSync(join(KUBERNETES_FOLDER, name), 'utf8')) as ReturnType<typeof manifest<Name>>;
}
