"""What each change of Slurm's configuration costs, as one table. The last line of a row names where that is written.

Manuals were read for each release from 22.05 to 26.05. Two things changed on the way. Up to 23.02 some options say "A
restart … is required"; in 23.11 those sentences went, because `scontrol reconfigure` starts new processes since then
(scontrol(1)); only ports and authentication still need a real restart. And up to 24.05 a changed node asks for restarts
of all daemons, from 24.11 on for "restarting or reconfiguring".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Effect(StrEnum):
    """What has to happen for a change, the mildest first."""

    NONE = "no effect on jobs"
    RECONFIGURE = "scontrol reconfigure"
    SLURMD = "slurmd restart (jobs go on)"
    SLURMCTLD = "slurmctld restart (jobs go on)"
    BOTH = "slurmctld and slurmd restart (jobs go on)"
    DRAINED = "needs drained nodes"
    EMPTY = "needs an empty cluster"
    REFUSED = "refused"

    @property
    def weight(self) -> int:
        """Larger is worse."""
        return list(Effect).index(self)


@dataclass(frozen=True)
class Cost:
    """The effect of one change, why, and who says so. `known` is False where the table has no row for it."""

    effect: Effect
    source: str
    why: str = ""
    known: bool = True


@dataclass(frozen=True)
class Rule:
    """A row: these options cost this, in the releases from `since` to `last`, both included."""

    keys: str
    effect: Effect
    source: str
    why: str = ""
    since: str = ""
    last: str = "99"

    def holds(self, release: str) -> bool:
        return self.since <= release <= self.last


MANUAL = "slurm.conf(5)"
MEASURED = "slurmd goes on with what it loaded (hpcprov.slurm.startup)"
LOADED = "a plugin that slurmctld loads when it starts"
# The last release whose daemons only read their files again on reconfigure.
REREADS = "23.02"

# slurm.conf. The first row that has the option and the release counts.
OPTIONS = (
    Rule("ClusterName", Effect.REFUSED, "slurmctld: fatal: CLUSTER NAME MISMATCH",
         "the saved state and the accounting records belong to the old name"),
    Rule("StateSaveLocation", Effect.EMPTY, MANUAL,
         "slurmctld starts without its saved state: every job, reservation and drain is forgotten; move the directory "
         "while slurmctld is stopped to keep them"),
    Rule("SelectType", Effect.EMPTY, MANUAL, "all job information, running and pending, is lost"),
    Rule("SwitchType", Effect.EMPTY, MANUAL, "running jobs must be restarted, records of all jobs may be lost"),
    Rule("SlurmctldHost", Effect.EMPTY, f"{MANUAL}, RELOCATING CONTROLLERS",
         "the state has to be moved to the new controller first, or it starts without jobs"),
    Rule("SlurmUser", Effect.EMPTY, "owner of StateSaveLocation", "the saved state belongs to the old user"),
    Rule("AuthType", Effect.DRAINED, MANUAL,
         "all daemons and commands end before it changes; outstanding job steps cannot complete"),
    Rule("JobAcctGatherType", Effect.DRAINED, MANUAL, "change it only while no job step runs", last="22.05"),
    Rule("SlurmdSpoolDir", Effect.DRAINED, "slurmd finds running steps by their sockets there",
         "slurmd no longer finds the steps that run, and slurmctld ends them"),
    # Real restarts, in every release.
    Rule("SlurmctldPort SlurmdPort", Effect.BOTH, f"{MANUAL}; scontrol(1)", "reconfigure cannot change a port"),
    Rule("CredType AuthAltTypes AuthAltParameters AuthInfo TLSType TLSParameters HashPlugin CertmgrType "
         "CertmgrParameters CertgenType CertgenParameters CryptoType JobCredentialPrivateKey "
         "JobCredentialPublicCertificate",
         Effect.BOTH, "scontrol(1)", "reconfigure cannot change authentication"),
    Rule("SlurmdUser SlurmdPidFile", Effect.SLURMD, MEASURED),
    Rule("SlurmctldPidFile", Effect.SLURMCTLD, "the unit of slurmctld names the file too"),
    # Up to 23.02: what reconfigure does not bring.
    Rule("GresTypes PluginDir", Effect.BOTH, MANUAL, last=REREADS),
    Rule("CoreSpecPlugin", Effect.SLURMD, MANUAL, last=REREADS),
    Rule("JobContainerType ProctrackType", Effect.BOTH, f"{MANUAL}; {MEASURED}", last=REREADS),
    Rule("AccountingStorageEnforce MaxJobCount MaxNodeCount PowerPlugin SchedulerParameters SchedulerType "
         "SelectTypeParameters SlurmctldParameters",
         Effect.SLURMCTLD, MANUAL, last=REREADS),
    Rule("BurstBufferType", Effect.SLURMCTLD, "slurmctld: ESLURM_INVALID_BURST_BUFFER_CHANGE on reconfigure",
         last=REREADS),
    Rule("AcctGatherEnergyType AcctGatherFilesystemType AcctGatherInfinibandType AcctGatherInterconnectType "
         "AcctGatherProfileType CommunicationParameters JobAcctGatherType NamespaceType NodeFeaturesPlugins "
         "PrEpPlugins "
         "RoutePlugin TopologyPlugin",
         Effect.BOTH, MEASURED, last=REREADS),
    Rule("SlurmdParameters TaskPlugin", Effect.SLURMD, MEASURED, last=REREADS),
    Rule("AccountingStorageType ExtSensorsType JobCompType LaunchType MCSPlugin PreemptType "
         "PrioritySiteFactorPlugin PriorityType SlurmctldPlugstack",
         Effect.SLURMCTLD, LOADED, last=REREADS),
    # From 23.11 on reconfigure is enough for all of those.
    Rule("GresTypes PluginDir CoreSpecPlugin JobContainerType ProctrackType AccountingStorageEnforce MaxJobCount "
         "MaxNodeCount PowerPlugin SchedulerParameters SchedulerType SelectTypeParameters SlurmctldParameters "
         "BurstBufferType AcctGatherEnergyType AcctGatherFilesystemType AcctGatherInfinibandType "
         "AcctGatherInterconnectType AcctGatherProfileType CommunicationParameters JobAcctGatherType NamespaceType "
         "NodeFeaturesPlugins PrEpPlugins RoutePlugin TopologyPlugin SlurmdParameters TaskPlugin AccountingStorageType "
         "ExtSensorsType JobCompType LaunchType MCSPlugin PreemptType PrioritySiteFactorPlugin PriorityType "
         "SlurmctldPlugstack",
         Effect.RECONFIGURE, "scontrol(1): from 23.11 on it starts new processes"),
    # Logs, mail, names of programs that only slurmctld calls for itself.
    Rule("DebugFlags LogTimeFormat SlurmctldDebug SlurmctldLogFile SlurmctldSyslogDebug SlurmdDebug SlurmdLogFile "
         "SlurmdSyslogDebug SlurmSchedLogFile SlurmSchedLogLevel MailProg MailDomain MetricsAuthUsers "
         "MetricsParameters "
         "MetricsType",
         Effect.NONE, MANUAL),
    # "Changes to the configuration file take effect upon … scontrol reconfigure unless otherwise noted": not noted.
    Rule("AccountingStorageBackupHost AccountingStorageExternalHost AccountingStorageHost AccountingStorageLoc "
         "AccountingStorageParameters AccountingStoragePass AccountingStoragePort AccountingStorageTRES "
         "AccountingStorageUser AccountingStoreFlags AccountingStoreJobComment AcctGatherNodeFreq "
         "AllowSpecResourcesUsage BackupAddr BackupController BatchStartTimeout BcastExclude BcastParameters "
         "BurstBufferParameters CliFilterParameters CliFilterPlugins CompleteWait ControlAddr ControlMachine "
         "CpuFreqDef "
         "CpuFreqGovernors DataParserParameters DefCPUPerGPU DefMemPerCPU DefMemPerGPU DefMemPerNode "
         "DependencyParameters DisableRootJobs DownNodes EioTimeout EnforcePartLimits Epilog EpilogMsgTime "
         "EpilogSlurmctld EpilogTimeout ExtSensorsFreq FairShareDampeningFactor FastSchedule FederationParameters "
         "FirstJobId FrontendName GetEnvTimeout GpuFreqDef GroupUpdateForce GroupUpdateTime HealthCheckInterval "
         "HealthCheckNodeState HealthCheckProgram HealthCheckTimeout HttpParserType InactiveLimit "
         "InteractiveStepOptions JobAcctGatherFrequency JobAcctGatherParams JobCompHost JobCompLoc JobCompParams "
         "JobCompPass JobCompPassScript JobCompPort JobCompUser JobFileAppend JobRequeue JobSubmitPlugins "
         "KeepAliveTime "
         "KillOnBadExit KillWait LaunchParameters LicenseParameters Licenses MaxArraySize MaxBatchRequeue MaxDBDMsgs "
         "MaxJobId MaxMemPerCPU MaxMemPerNode MaxStepCount MaxTasksPerNode MCSParameters MessageTimeout MinJobAge "
         "MpiDefault MpiParams NodeSet OverTimeLimit PlugStackConfig PowerAction PowerParameters PreemptExemptTime "
         "PreemptMode PreemptParameters PrEpParameters PriorityCalcPeriod PriorityDecayHalfLife PriorityFavorSmall "
         "PriorityFlags PriorityMaxAge PriorityParameters PrioritySiteFactorParameters PriorityUsageResetPeriod "
         "PriorityWeightAge PriorityWeightAssoc PriorityWeightFairshare PriorityWeightJobSize PriorityWeightPartition "
         "PriorityWeightQOS PriorityWeightTRES PrivateData Prolog PrologEpilogTimeout PrologFlags PrologSlurmctld "
         "PrologTimeout PropagatePrioProcess PropagateResourceLimits PropagateResourceLimitsExcept RebootProgram "
         "ReconfigFlags RequeueExit RequeueExitHold ResumeFailProgram ResumeProgram ResumeRate ResumeTimeout "
         "ResvEpilog "
         "ResvOverRun ResvProlog ReturnToService SallocDefaultCommand SbcastParameters SchedulerAuth "
         "SchedulerTimeSlice "
         "ScronParameters SlurmctldAddr SlurmctldHttpAuthParameters SlurmctldPrimaryOffProg SlurmctldPrimaryOnProg "
         "SlurmctldTimeout SlurmdHttpAuthParameters SlurmdTimeout SrunEpilog SrunPortRange SrunProlog SuspendExcNodes "
         "SuspendExcParts SuspendExcStates SuspendProgram SuspendRate SuspendTime SuspendTimeout SwitchParameters "
         "TaskEpilog TaskPluginParam TaskProlog TCPTimeout TmpFS TopologyParam TrackWCKey TreeWidth "
         "UnkillableStepProgram UnkillableStepTimeout UrlParserType UsePAM VSizeFactor WaitTime X11Parameters",
         Effect.RECONFIGURE, MANUAL),
)  # fmt: skip

# What Slurm takes where a costly option is absent, in all releases.
DEFAULTS = {"AuthType": "auth/munge", "CredType": "cred/munge", "SlurmUser": "root", "StateSaveLocation": "/var/spool"}

# Options of a NodeName line.
NODES = (
    Rule("Gres", Effect.DRAINED, "slurmctld: Aborting … due to use of invalid GRES configuration",
         "jobs that hold a resource which is gone are ended"),
    Rule("Features Weight State Reason TRESWeights SuspendTime CpuBind Topology Parameters",
         Effect.RECONFIGURE, MANUAL),
    Rule("BcastAddr Boards CoreSpecCount CoresPerSocket CPUs CPUSpecList GresConf MemSpecLimit NodeAddr NodeHostname "
         "Port RealMemory RestrictedCoresPerGPU Sockets SocketsPerBoard ThreadsPerCore TmpDisk",
         Effect.BOTH, f"{MANUAL}, NODE CONFIGURATION", last="24.05"),
    Rule("BcastAddr Boards CoreSpecCount CoresPerSocket CPUs CPUSpecList GresConf MemSpecLimit NodeAddr NodeHostname "
         "Port RealMemory RestrictedCoresPerGPU Sockets SocketsPerBoard ThreadsPerCore TmpDisk",
         Effect.RECONFIGURE, f"{MANUAL}, NODE CONFIGURATION: restarting or reconfiguring", since="24.11"),
)  # fmt: skip
OTHER_CORES = Cost(
    Effect.DRAINED,
    "slurmctld: Aborting … due to change in socket/core configuration of allocated nodes",
    "jobs on a node whose cores change in number end, or are requeued",
)
NODE_ADDED = Cost(
    Effect.SLURMCTLD,
    f"{MANUAL}, NODE CONFIGURATION",
    "the others take it with scontrol reconfigure: their files come from slurmctld",
)
NODE_REMOVED = Cost(
    Effect.DRAINED, f"{MANUAL}, NODE CONFIGURATION; slurmctld: Invalid nodes … for job", "jobs that run there are ended"
)
PARTITION_REMOVED = Cost(Effect.DRAINED, f"{MANUAL}, PARTITION CONFIGURATION", "jobs in it are ended, pending ones too")
PARTITION = Cost(Effect.RECONFIGURE, f"{MANUAL}, PARTITION CONFIGURATION")
CGROUP = Cost(Effect.SLURMD, f"cgroup.conf(5); {MEASURED}")
GRES = Cost(Effect.BOTH, "gres.conf(5)")
FIRST = Cost(Effect.NONE, "nothing runs yet")


def of_option(key: str, release: str, old: str | None = None, new: str | None = None) -> Cost:
    """What changing an option of slurm.conf costs in a release such as 22.05. None is an option that is not there."""
    cost = _look_up(OPTIONS, key, release)
    default = DEFAULTS.get(key)
    if default and (old is None) != (new is None) and (old or default) == (new or default):
        return Cost(Effect.RECONFIGURE, MANUAL, "that is its default")
    if key == "SelectType" and {_plugin(old), _plugin(new)} == {"cons_res", "cons_tres"}:
        return Cost(Effect.BOTH, MANUAL, "between cons_res and cons_tres job information is kept")
    if key == "SlurmctldHost" and old and new and _first_host(old) == _first_host(new):
        return Cost(Effect.BOTH, MANUAL, "the primary stays, and with it the state")
    return cost


def of_node(key: str, release: str, old: Mapping[str, str], new: Mapping[str, str]) -> Cost:
    """What changing an option of a node's line costs; `old` and `new` are its whole lines."""
    counts = ("CPUs", "Boards", "SocketsPerBoard", "CoresPerSocket")
    if key in counts and cores(old) != cores(new):
        return OTHER_CORES
    if key == "Gres" and not old.get("Gres"):
        return Cost(Effect.BOTH, "gres.conf(5)", "no job can hold any of it yet")
    return _look_up(NODES, key, release)


def cores(node: Mapping[str, str]) -> int | None:
    """Cores of a node as slurmctld counts them; CPUs where the line says nothing of sockets and cores."""
    parts = [node.get(key) for key in ("Boards", "SocketsPerBoard", "CoresPerSocket")]
    given = [part for part in parts if part]
    try:
        if not given:
            return int(node["CPUs"]) if "CPUs" in node else None
        count = 1
        for part in given:
            count *= int(part)
    except ValueError:
        return None
    return count


def _look_up(table: tuple[Rule, ...], key: str, release: str) -> Cost:
    wanted = key.lower()
    for rule in table:
        if rule.holds(release) and wanted in rule.keys.lower().split():
            return Cost(rule.effect, rule.source, rule.why)
    return Cost(Effect.BOTH, "not in the table of costs", "taken for the worst that keeps jobs", known=False)


def _plugin(value: str | None) -> str:
    return (value or "").rpartition("/")[2]


def _first_host(value: str) -> str:
    return value.split(",", 1)[0].split("(", 1)[0]
