"""Every exception of the package.

Each fault has one class, one stable code and one explanation: the class's docstring, which `pdrm explain CODE` prints.
"""

from pdrm.errors.analysis import BadCertificate, NoDiscount, ProductTooLarge, UnboundedStep
from pdrm.errors.domains import (
    BadAction,
    BadArrays,
    BadDomainFile,
    BadDomainSetting,
    NoStart,
    NoTransitionTable,
    RaggedMap,
    UnknownDomain,
    UnknownPlace,
    UnreachablePlace,
)
from pdrm.errors.files import BadWord, CannotOpen, CannotWrite, UnknownCode, UnknownFormat, UnknownMachine
from pdrm.errors.machine import (
    CannotTranslate,
    EndlessSilentMoves,
    FinalStateWithRules,
    ImpossibleLabel,
    MachineFinished,
    Nondeterministic,
    StackFull,
    TooManyCases,
    UndefinedMove,
    UnknownConfiguration,
)
from pdrm.errors.message import WARNINGS, Finding, PdrmError, SeveralErrors, Where, did_you_mean, raise_all
from pdrm.errors.reading import (
    BadIndentation,
    BadName,
    BadNumber,
    BadReward,
    BadShape,
    CannotRead,
    DuplicateName,
    MissingHeader,
    NoBottom,
    NotConstant,
    NotUtf8,
    TooDeep,
    TooLarge,
    UnknownEvent,
    UnknownKeyword,
    UnknownMap,
    UnknownState,
    UnknownSymbol,
)
from pdrm.errors.settings import BadPolicyFile, BadRunFolder, BadSetting, MissingPackage, UnknownAgent, WrongPolicy
from pdrm.errors.studies import BadStudy, NotRecorded, UnknownStudy, WorkersLost
from pdrm.errors.wrapping import (
    BadEnvironmentReward,
    BadLabel,
    CannotWrap,
    EpisodeOver,
    FinishedAtReset,
    StackTooHigh,
)

__all__ = [
    "WARNINGS",
    "BadAction",
    "BadArrays",
    "BadCertificate",
    "BadDomainFile",
    "BadDomainSetting",
    "BadEnvironmentReward",
    "BadIndentation",
    "BadLabel",
    "BadName",
    "BadNumber",
    "BadPolicyFile",
    "BadReward",
    "BadRunFolder",
    "BadSetting",
    "BadShape",
    "BadStudy",
    "BadWord",
    "CannotOpen",
    "CannotRead",
    "CannotTranslate",
    "CannotWrap",
    "CannotWrite",
    "DuplicateName",
    "EndlessSilentMoves",
    "EpisodeOver",
    "FinalStateWithRules",
    "Finding",
    "FinishedAtReset",
    "ImpossibleLabel",
    "MachineFinished",
    "MissingHeader",
    "MissingPackage",
    "NoBottom",
    "NoDiscount",
    "NoStart",
    "NoTransitionTable",
    "Nondeterministic",
    "NotConstant",
    "NotRecorded",
    "NotUtf8",
    "PdrmError",
    "ProductTooLarge",
    "RaggedMap",
    "SeveralErrors",
    "StackFull",
    "StackTooHigh",
    "TooDeep",
    "TooLarge",
    "TooManyCases",
    "UnboundedStep",
    "UndefinedMove",
    "UnknownAgent",
    "UnknownCode",
    "UnknownConfiguration",
    "UnknownDomain",
    "UnknownEvent",
    "UnknownFormat",
    "UnknownKeyword",
    "UnknownMachine",
    "UnknownMap",
    "UnknownPlace",
    "UnknownState",
    "UnknownStudy",
    "UnknownSymbol",
    "UnreachablePlace",
    "Where",
    "WorkersLost",
    "WrongPolicy",
    "did_you_mean",
    "explanations",
    "raise_all",
]


def explanations() -> dict[str, tuple[str, str]]:
    """Code -> (title, explanation) of every error and warning.

    >>> explanations()["E0301"][0]
    'nondeterministic'
    """
    table = {kind.code: (_words(kind.__name__), kind.__doc__ or "") for kind in PdrmError.__subclasses__()}
    table |= {code: (text.partition(".")[0].partition(":")[0], text) for code, text in WARNINGS.items()}
    return dict(sorted(table.items()))


def _words(name: str) -> str:
    """A class name as words."""
    return "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in name).strip()
