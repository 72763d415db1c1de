"""The rows of the paper's tables: the list of methods and how to create each.

In: a method's key and the run's settings. Out: a competitor, ready to fit. Heavy imports are
delayed until a method is created.
"""

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.baselines.contract import Competitor
from benchmarks.libraries import not_installed
from smkc.paper.sketch import Sketch

if TYPE_CHECKING:
    from smkc.paper.learn.training import Training

__all__ = [
    "ABLATIONS",
    "METHODS",
    "OWN_VARIANTS",
    "PAPER_VARIANTS",
    "ROWS",
    "SCALING_METHODS",
    "TUNED_ABLATIONS",
    "Method",
]

BASELINES = "benchmarks.baselines"


@dataclass(frozen=True, kw_only=True)
class Method:
    """A row of a table.

    Parameters
    ----------
    key
        name on the command line.
    name
        name in the tables: the paper's where it has one.
    home
        module and class of the competitor, as ``module:Class``.
    reads
        arguments of its constructor: ``windows`` none, ``sketch`` the sketch, ``states`` window
        and sketch, ``network`` window, sketch and training.
    representation
        representation of the kernel features, for RandProj-kNN.
    variant
        variant of the paper's learned detector, for the ablation tables.
    """

    key: str
    name: str
    home: str
    reads: str
    representation: str = ""
    variant: str = ""

    @property
    def is_trained(self) -> bool:
        """Whether the method trains a network, which needs torch."""
        return self.reads == "network"

    def make(
        self,
        *,
        window: int,
        sketch: Sketch,
        seed: int,
        training: "Training | None" = None,
        checkpoint: Path | None = None,
    ) -> Competitor:
        """Return the competitor, not fitted.

        ``training`` is used by those with a network, which resume from ``checkpoint``.
        """
        module, name = self.home.split(":")
        try:
            kind = getattr(import_module(f"{BASELINES}.{module}"), name)
        except ModuleNotFoundError as error:
            raise not_installed(self.name, error.name, error) from error
        settings: dict[str, Any] = {}
        if self.reads != "windows":
            settings["sketch"] = sketch
        if self.reads in ("states", "network"):
            settings["window"] = window
        if self.is_trained:
            settings.update(training=training, checkpoint=checkpoint)
        if self.representation:
            settings["representation"] = self.representation
        if self.variant:
            settings["variant"] = self.variant
        if name == "IsolationForestStats":
            settings["seed"] = seed
        made: Competitor = kind(**settings)
        return made


def _trained(key: str, name: str, home: str) -> Method:
    return Method(key=key, name=name, home=home, reads="network")


def _on_statistics(key: str, name: str, home: str) -> Method:
    return Method(key=key, name=name, home=home, reads="windows")


def _projected(key: str, name: str, representation: str) -> Method:
    home = "randproj_knn:RandProjKnn"
    return Method(key=key, name=name, home=home, reads="states", representation=representation)


# Rows of the main tables; the paper's own methods first.
METHODS = {
    method.key: method
    for method in (
        _trained("smkc-recon", "SMKC-Recon(HYB)", "smkc_learned:SmkcRecon"),
        _trained("smkc-pred", "SMKC-Pred(HYB)", "smkc_learned:SmkcPrediction"),
        _trained("smkc-ens", "SMKC-ENS(HYB)", "smkc_learned:SmkcEnsemble"),
        _trained("smkc-recon-tuned", "SMKC-Recon(HYB), tuned", "smkc_learned:SmkcReconTuned"),
        _trained("smkc-pred-tuned", "SMKC-Pred(HYB), tuned", "smkc_learned:SmkcPredictionTuned"),
        _trained("smkc-ens-tuned", "SMKC-ENS(HYB), tuned", "smkc_learned:SmkcEnsembleTuned"),
        _trained(
            "smkc-ens-no-labels",
            "SMKC-ENS(HYB), tuned, no labels",
            "smkc_learned:SmkcEnsembleWithoutLabels",
        ),
        _projected("randproj-knn", "RandProj-kNN(SMKC)", "full image"),
        Method(
            key="randproj-knn-no-presence",
            name="RandProj-kNN(SMKC), no presence",
            home="randproj_knn:RandProjKnnWithoutPresence",
            reads="states",
            representation="full image",
        ),
        _on_statistics("smkc-evidence", "SMKC-Evidence", "evidence_windows:EvidenceWindows"),
        _trained("pad-mask-gru-ae", "Pad+Mask GRU-AE(Cmax)", "pad_mask_gru_ae:PadMaskGruAe"),
        _trained("gru-ae", "GRU-AE(gseq)", "gru_ae:GruAutoencoder"),
        _trained(
            "gru-ae-true-states", "GRU-AE(gseq), true states", "gru_ae:GruAutoencoderTrueStates"
        ),
        _trained("deepsets-gru", "DeepSets-GRU(Set)", "deepsets_gru:DeepSetsGru"),
        _trained(
            "set-transformer-gru",
            "SetTransformer-GRU(Set)",
            "set_transformer_gru:SetTransformerGru",
        ),
        _trained("mscred", "MSCRED(Signature)", "mscred:Mscred"),
        _trained(
            "anomaly-transformer",
            "AnomalyTransformer(gseq)",
            "anomaly_transformer:AnomalyTransformer",
        ),
        _trained(
            "anomaly-transformer-sharp",
            "AnomalyTransformer(gseq), temperature 50",
            "anomaly_transformer:AnomalyTransformerSharp",
        ),
        _trained("ts-mae", "TS-MAE(gseq)", "ts_mae:MaskedAutoencoder"),
        _trained("tranad", "TranAD(gseq)", "tranad:TranAD"),
        _trained("usad", "USAD(gseq)", "usad:Usad"),
        _trained("usad-worst-step", "USAD(gseq), worst step", "usad:UsadWorstStep"),
        _on_statistics("statspool-knn", "StatsPool-kNN", "statspool_knn:StatsPoolKnn"),
        _on_statistics(
            "isolation-forest", "IsolationForest(stats)", "isolation_forest:IsolationForestStats"
        ),
        _on_statistics("lof", "LOF(stats)", "lof:LofStats"),
        _on_statistics("one-class-svm", "OneClassSVM(stats)", "one_class_svm:OneClassSvmStats"),
        Method(
            key="largest-jump",
            name="max |delta g|",
            home="largest_jump:LargestJump",
            reads="sketch",
        ),
        Method(
            key="largest-state",
            name="max |g|",
            home="largest_jump:LargestState",
            reads="sketch",
        ),
    )
}

# Rows of the scaling table: RandProj-kNN over every representation.
SCALING_METHODS = {
    method.key: method
    for method in (
        _projected("randproj-log3-band8", "HYB-log3+bandfeat(w=8)", "log3 band(8)"),
        _projected("randproj-log3-band4", "HYB-log3+bandfeat(w=4)", "log3 band(4)"),
        _projected("randproj-log3", "HYB-log3(img)", "log3 image"),
        _projected("randproj-proj128", "HYB-full+proj128(img)", "full proj(128) image"),
        _projected("randproj-full", "HYB-full(img)", "full image"),
        _projected("randproj-proj64", "HYB-full+proj64(img)", "full proj(64) image"),
        _projected("randproj-log3-anchor16", "HYB-log3+anchor(r=16)", "log3 anchor(16)"),
        _projected("randproj-log3-anchor8", "HYB-log3+anchor(r=8)", "log3 anchor(8)"),
        _projected("randproj-base2", "HYB-base2(img)", "base2 image"),
        _projected("randproj-down16", "HYB-full+down16(img)", "full down(16) image"),
        _projected("randproj-seq", "SEQ(gseq)", "seq"),
    )
}


# The paper's ablations, in its order.
PAPER_VARIANTS = (
    "log_only",
    "no_presence_stream",
    "no_absdelta_only",
    "base",
    "no_scale_token",
    "no_lag_positional",
    "lambda_linear_no_saturation",
    "no_deltas_and_absdeltas",
    "no_delta_only",
    "mask_random_only",
    "no_sqrt_nt_normalization",
    "cos_only",
)

# Our own ablations, of the tuned method only.
OWN_VARIANTS = ("full_tokens_float32", "no_expected_errors")


def _ablated(prefix: str, variant: str, home: str) -> Method:
    key = f"{prefix}-{variant}"
    return Method(key=key, name=variant, home=home, reads="network", variant=variant)


# Rows of the ablation tables: of SMKC-Recon(HYB) and of its tuned version.
ABLATIONS = {
    method.key: method
    for variant in PAPER_VARIANTS
    for method in [_ablated("ablation-paper", variant, "smkc_learned:SmkcRecon")]
}
TUNED_ABLATIONS = {
    method.key: method
    for variant in PAPER_VARIANTS + OWN_VARIANTS
    for method in [_ablated("ablation", variant, "smkc_learned:SmkcReconTuned")]
}

# Every row of every table.
ROWS = METHODS | SCALING_METHODS | ABLATIONS | TUNED_ABLATIONS
