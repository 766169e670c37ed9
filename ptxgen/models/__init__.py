"""Finding, fetching and loading models, and the session through which decoding uses one."""

from ptxgen.models.catalogue import CATALOGUE, DEFAULT_MODEL, Downloadable, cache_folder
from ptxgen.models.failures import ContextFull, ModelError
from ptxgen.models.fetch import fetch
from ptxgen.models.find import FoundModel, find_model, known_models
from ptxgen.models.interrupts import interrupts_deferred
from ptxgen.models.open import open_session
from ptxgen.models.random import RandomSession
from ptxgen.models.session import ModelIdentity, Session

__all__ = [
    "CATALOGUE",
    "DEFAULT_MODEL",
    "ContextFull",
    "Downloadable",
    "FoundModel",
    "ModelError",
    "ModelIdentity",
    "RandomSession",
    "Session",
    "cache_folder",
    "fetch",
    "find_model",
    "interrupts_deferred",
    "known_models",
    "open_session",
]
