import { plainProps } from "../../components/inference-server/argv/unknown";

/** A resource as a program declares it: its inputs, before anything is created. */
export interface DeclaredResource {
  /** Pulumi's type token. */
  readonly type: string;
  /** Name within the program. */
  readonly name: string;
  readonly urn?: string;
  /** URN of its parent. */
  readonly parent?: string;
  /** What says on which Docker host it lives: the URN of its provider, or the name of the machine in a plan. */
  readonly provider?: string;
  /** Inputs. After `withPlainProps`, `UNKNOWN` stands for each value that is not known yet. */
  readonly props: Readonly<Record<string, unknown>>;
}

/** The same resource with plain data as properties, which is what every rule is given. */
export function withPlainProps(resource: DeclaredResource): DeclaredResource {
  return { ...resource, props: plainProps(resource.props) };
}

/** The resources of one type. */
export function ofType(resources: readonly DeclaredResource[], type: string): DeclaredResource[] {
  return resources.filter((resource) => resource.type === type);
}
